#!/usr/bin/env bash
# install.sh FOLDER: a real VS Code (code-server) with the Node.js that it needs, from npm, without what it needs no part of.
# Takes npm, a C++ compiler, make and Python; about 800 MB.
set -euo pipefail
PREFIX=$1
VERSION=4.139.1 # VS Code 1.139.1
NODE=24.21.0
NPM=(npm --no-audit --no-fund --silent)

mkdir -p "$PREFIX/node"
echo '{"private": true}' > "$PREFIX/node/package.json"
(cd "$PREFIX/node" && "${NPM[@]}" install "node@$NODE")
export PATH="$PREFIX/node/node_modules/.bin:$PATH"

echo '{"private": true}' > "$PREFIX/package.json"
cd "$PREFIX"
"${NPM[@]}" install --ignore-scripts "code-server@$VERSION"
cd node_modules/code-server/lib/vscode # its own shrinkwrap pins everything
"${NPM[@]}" install --omit=dev --ignore-scripts
"${NPM[@]}" rebuild @vscode/spdlog @vscode/native-watchdog # the two that come without a built binary
(cd extensions && "${NPM[@]}" install --omit=dev --ignore-scripts)
node "$PREFIX/node_modules/code-server/out/node/entry.js" --version > "$PREFIX/version"
