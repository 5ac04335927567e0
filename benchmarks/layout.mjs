// The canvas's layout beside ELK layered on the same graphs: views of real captures and random nested groups.
//
//   cd clients/canvas && npm ci && node ../../benchmarks/layout.mjs [--runs N] [NAME…]
//
// Both get the same boxes and edges. ELK lays out the hierarchy as one (INCLUDE_CHILDREN) with polylines; crossings, boxes
// that overlap or leave their parent are counted from the coordinates, by the same code for both. Times are CPU time of
// the best of N runs in one process, ELK's included conversion excluded. "again" is the layout with a previous one.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const canvas = join(dirname(fileURLToPath(import.meta.url)), "../clients/canvas");
const installed = createRequire(join(canvas, "package.json"));
const { build } = installed("esbuild");
const ELK = installed("elkjs/lib/elk.bundled.js");

const CROSSINGS_MOST = 1.1;
const TIME_MOST = 1 / 5;

function toElk({ nodes, edges }) {
  const root = {
    id: "",
    children: [],
    edges: [],
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.hierarchyHandling": "INCLUDE_CHILDREN",
      "elk.edgeRouting": "POLYLINE",
      "elk.json.edgeCoords": "ROOT",
      "elk.json.shapeCoords": "ROOT",
    },
  };
  const made = new Map();
  for (const node of nodes) {
    const layoutOptions = {};
    if (node.expanded) layoutOptions["elk.padding"] = `[top=${(node.headerHeight ?? 0) + 14},left=14,bottom=14,right=14]`;
    if (node.rank === "first") layoutOptions["elk.layered.layering.layerConstraint"] = "FIRST";
    if (node.rank === "last") layoutOptions["elk.layered.layering.layerConstraint"] = "LAST";
    made.set(node.id, { id: node.id, width: node.width, height: node.height, children: [], layoutOptions });
  }
  for (const node of nodes) (made.get(node.parent) ?? root).children.push(made.get(node.id));
  for (const { id, source, target } of edges) root.edges.push({ id, sources: [source], targets: [target] });
  return root;
}

function fromElk(root) {
  const boxes = new Map();
  const edges = new Map();
  const walk = (node) => {
    for (const child of node.children ?? []) {
      boxes.set(child.id, { x: child.x, y: child.y, width: child.width, height: child.height });
      walk(child);
    }
    for (const { id, sections = [] } of node.edges ?? []) {
      edges.set(id, { points: sections.flatMap((one) => [one.startPoint, ...(one.bendPoints ?? []), one.endPoint]) });
    }
  };
  walk(root);
  return { boxes, edges };
}

async function timed(runs, run) {
  let best = Number.POSITIVE_INFINITY;
  let result;
  for (let i = 0; i < runs; i++) {
    const before = process.cpuUsage();
    result = await run();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return { ms: best, result };
}

async function load(folder) {
  const out = join(folder, "ours.mjs");
  await build({
    stdin: {
      contents: `export * from "./src/layout/index.ts"; export * from "./test/layout/checks.ts"; export * from "./test/layout/graphs.ts";`,
      resolveDir: canvas,
      loader: "ts",
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: out,
    logLevel: "warning",
  });
  return import(pathToFileURL(out).href);
}

const args = process.argv.slice(2);
const at = args.indexOf("--runs");
const runs = at < 0 ? 5 : Number(args.splice(at, 2)[1]);
const folder = await mkdtemp(join(tmpdir(), "layout-"));
try {
  const { layout, nested, crossings, overlaps, escapes, upwards } = await load(folder);
  const graphs = [];
  const views = join(canvas, "test/layout/views");
  for (const file of (await readdir(views)).sort()) {
    graphs.push([file.replace(".json", ""), JSON.parse(await readFile(join(views, file), "utf8"))]);
  }
  for (const [count, seed] of [[60, 1], [60, 2], [120, 3], [120, 4], [250, 5], [250, 6], [500, 7]]) {
    graphs.push([`random-${count}-${seed}`, nested(count, seed)]);
  }
  const elk = new ELK();
  const total = { ours: 0, theirs: 0, oursMs: 0, theirsMs: 0, faults: 0 };
  console.log("graph                 boxes edges |   ms  again    elk  ratio | crossings    elk  ratio | faults");
  for (const [name, graph] of graphs) {
    if (args.length > 0 && !args.includes(name)) continue;
    const ours = await timed(runs, () => layout(graph.nodes, graph.edges));
    const again = await timed(runs, () => layout(graph.nodes, graph.edges, { previous: ours.result }));
    const theirs = await timed(Math.min(runs, 3), () => elk.layout(toElk(graph)));
    const mine = crossings(ours.result);
    const other = crossings(fromElk(theirs.result));
    const faults = overlaps(graph, ours.result).length + escapes(graph, ours.result).length + upwards(graph, ours.result).length;
    total.ours += mine;
    total.theirs += other;
    total.oursMs += ours.ms;
    total.theirsMs += theirs.ms;
    total.faults += faults;
    console.log(
      `${name.padEnd(21)} ${String(graph.nodes.length).padStart(5)} ${String(graph.edges.length).padStart(5)} | ` +
        `${ours.ms.toFixed(1).padStart(5)} ${again.ms.toFixed(1).padStart(5)} ${theirs.ms.toFixed(0).padStart(6)} ${(ours.ms / theirs.ms).toFixed(3)} | ` +
        `${String(mine).padStart(9)} ${String(other).padStart(6)} ${(mine / Math.max(1, other)).toFixed(2).padStart(6)} | ${faults}`,
    );
  }
  const crossed = total.ours / Math.max(1, total.theirs);
  const took = total.oursMs / total.theirsMs;
  console.log(`all: crossings ${crossed.toFixed(2)} of ELK's, time ${took.toFixed(3)} of ELK's, ${total.faults} faults`);
  if (total.faults > 0 || crossed > CROSSINGS_MOST || took > TIME_MOST) {
    console.error(`not within ${CROSSINGS_MOST} and ${TIME_MOST}, or with faults`);
    process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
