// Bundles the extension, and takes the canvas and the licence along. `node build.mjs [--watch]`
import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const watch = process.argv.includes("--watch");

const common = {
  bundle: true,
  minify: !watch,
  sourcemap: watch ? "linked" : false,
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};
const extension = {
  ...common,
  entryPoints: { extension: join(here, "src/extension.ts") },
  outdir: join(here, "dist"),
  platform: "node",
  format: "cjs",
  target: ["node20"],
  external: ["vscode"],
};
/** Tests that run inside VS Code; not part of the package. */
const hostTests = {
  ...extension,
  entryPoints: { host: join(here, "test/host/host.ts") },
  outdir: join(here, "build"),
};
/** Extensions that stand in for those of others, each a folder to package. */
const standIns = ["python", "environments"];
const others = {
  ...extension,
  entryPoints: Object.fromEntries(
    standIns.map((name) => [`${name}/extension`, join(here, `test/standins/${name}/extension.ts`)]),
  ),
  outdir: join(here, "build/standins"),
};
/** The same application as in the browser; see clients/canvas/build.mjs. */
const canvas = {
  ...common,
  entryPoints: { canvas: join(root, "clients/canvas/src/main.tsx"), style: join(root, "clients/canvas/src/style.css") },
  outdir: join(here, "dist/canvas"),
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
};

await rm(join(here, "dist"), { recursive: true, force: true });
await mkdir(join(here, "dist"), { recursive: true });
await cp(join(root, "LICENSE"), join(here, "LICENSE"));
for (const options of [extension, canvas, hostTests, others]) {
  if (watch) await (await esbuild.context(options)).watch();
  else await esbuild.build(options);
}
for (const name of standIns) {
  await cp(join(here, `test/standins/${name}/package.json`), join(here, `build/standins/${name}/package.json`));
}
