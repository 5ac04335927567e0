#!/usr/bin/env bash
# install.sh FOLDER: a real VS Code (code-server), and the Node.js that it runs on, from npm, without what no test needs.
# Takes Node.js and npm, half a minute and 430 MB.
set -euo pipefail
PREFIX=$1
HERE=$(cd "$(dirname "$0")" && pwd)
VERSION=4.139.1 # VS Code 1.139.1
NODE=24.21.0
NPM=(npm --no-audit --no-fund --silent --ignore-scripts)

# Beside each other: loading these two takes most of the time.
load() {
  mkdir -p "$PREFIX/$1"
  cd "$PREFIX/$1"
  echo '{"private": true}' > package.json
  "${NPM[@]}" install "$2"
}
load node "$(node -p '`node-${process.platform}-${process.arch}`')@$NODE" &
load . "code-server@$VERSION"
wait $!
rm -rf "$PREFIX"/node/node_modules/node-*/include # 60 MB
ln -s "$PREFIX"/node/node_modules/node-*/bin/node "$PREFIX/node/node"

cd "$PREFIX/node_modules/code-server/lib/vscode" # its own shrinkwrap pins everything
rm -rf extensions/{copilot,mermaid-markdown-features,microsoft-authentication}
for agents in @github/copilot-sdk @microsoft/mxc-sdk @vscode/sandbox-runtime @devcontainers/cli; do
  npm pkg delete "dependencies.$agents"
done
"${NPM[@]}" install --omit=dev
cp "$HERE/spdlog.js" node_modules/@vscode/spdlog/index.js # else it would have to be built
XDG_CONFIG_HOME="$PREFIX/config" XDG_DATA_HOME="$PREFIX/data" "$PREFIX/node/node" "$PREFIX/node_modules/code-server/out/node/entry.js" --version > "$PREFIX/version"
