// Bundles the canvas into the Python package, where the daemon serves it from. `node build.mjs [--watch]`
import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../../tvls/canvas/static");
const watch = process.argv.includes("--watch");

const options = {
  entryPoints: { canvas: join(here, "src/main.tsx"), style: join(here, "src/style.css") },
  outdir: out,
  bundle: true,
  format: "esm",
  target: ["es2022"],
  minify: !watch,
  sourcemap: watch ? "linked" : false,
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const name of ["icon.svg", "index.html"]) await cp(join(here, "src", name), join(out, name));
if (watch) {
  await (await esbuild.context(options)).watch();
} else {
  await esbuild.build(options);
}
