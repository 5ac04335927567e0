// The views that an exported file makes itself.
import { expect, test } from "vitest";
import { hostOf } from "../src/host/file";
import { words } from "../src/host/search";
import type * as p from "../src/protocol";
import { recorded } from "./recorded";

const ID = "x";
const host = hostOf(recorded("tower"));
const view = (params: Partial<p.GraphViewParams> = {}) => host.request("tvls/graph/view", { captureId: ID, ...params });
const labels = (nodes: readonly p.Node[]) => nodes.map((node) => node.label);
const byLabel = (nodes: readonly p.Node[], label: string) => nodes.find((node) => node.label === label) as p.Node;

async function opened(...names: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) ids.push(byLabel((await view({ expanded: ids })).nodes, name).id);
  return ids;
}

/** Everything flows downwards: no node reads, over any way, from itself. */
function isAcyclic(edges: readonly p.Edge[]): boolean {
  const next = new Map<string, string[]>();
  for (const edge of edges) next.set(edge.source, [...(next.get(edge.source) ?? []), edge.target]);
  const done = new Set<string>();
  const visit = (id: string, way: Set<string>): boolean => {
    if (way.has(id)) return false;
    if (done.has(id)) return true;
    done.add(id);
    return (next.get(id) ?? []).every((target) => visit(target, new Set(way).add(id)));
  };
  return [...next.keys()].every((id) => visit(id, new Set()));
}

test("closed scopes stand for what is inside", async () => {
  const { nodes, edges } = await view();
  expect(labels(nodes)).toEqual(["x", "stem", "blocks_0", "blocks_1", "blocks_2", "blocks_3", "head", "result"]);
  expect(edges.map(({ source, target }) => [source, target])).toEqual(
    nodes.slice(1).map((node, at) => [nodes[at]?.id, node.id]),
  );
});

test("an opened scope shows its contents, which name it as parent", async () => {
  const [stem] = await opened("stem");
  const { nodes } = await view({ expanded: [stem as string] });
  const inside = nodes.filter((node) => node.parent === stem);
  expect(labels(inside)).toEqual(["dot_general", "reshape", "add"]);
  expect(inside.find((node) => node.label === "dot_general")?.state?.[0]?.name).toContain("kernel");
});

test("equal neighbours are one node, which shows the instance that is asked for", async () => {
  const { nodes } = await view({ fold: true });
  expect(labels(nodes)).toEqual(["x", "stem", "blocks_0", "head", "result"]);
  const folded = byLabel(nodes, "blocks_0");
  expect(folded.fold).toMatchObject({ count: 4, first: "blocks_0", last: "blocks_3", instance: 0 });

  const other = await view({ fold: true, instances: { [folded.id]: 2 } });
  const shown = other.nodes.find((node) => node.id === folded.id);
  expect(shown?.label).toBe("blocks_2");
  expect(shown?.fold?.instance).toBe(2);
});

test.each([0, 1, 2, 3])("instance %i opened has one way in and one way out, and no cycle", async (instance) => {
  const folded = byLabel((await view({ fold: true })).nodes, "blocks_0").id;
  const { nodes, edges } = await view({ fold: true, expanded: [folded], instances: { [folded]: instance } });
  const inside = new Set(nodes.filter((node) => node.parent === folded).map((node) => node.id));
  expect(inside.size).toBeGreaterThan(1);
  expect(isAcyclic(edges)).toBe(true);
  const stem = byLabel(nodes, "stem").id;
  const head = byLabel(nodes, "head").id;
  const into = edges.filter((edge) => inside.has(edge.target) && !inside.has(edge.source));
  expect(into.length).toBeGreaterThan(0);
  expect(new Set(into.map((edge) => edge.source))).toEqual(new Set([stem]));
  const out = edges.filter((edge) => inside.has(edge.source) && !inside.has(edge.target));
  expect(out.map((edge) => edge.target)).toEqual([head]);
});

test("edges lead past what is hidden, and it is counted", async () => {
  const expanded = await opened("stem");
  const all = await view({ expanded });
  const some = await view({ expanded, hide: ["parameter"] });
  expect(all.noise?.parameter).toBeGreaterThan(0);
  expect(some.hidden).toBe(all.noise?.parameter);
  expect(some.nodes.length).toBe(all.nodes.length - (some.hidden ?? 0));
  const ids = new Set(some.nodes.map((node) => node.id));
  expect(some.edges.every((edge) => ids.has(edge.source) && ids.has(edge.target))).toBe(true);
});

test("search finds by primitive, path, parameter, shape and line", async () => {
  const search = async (query: string) => (await host.request("tvls/graph/search", { captureId: ID, query })).nodes;
  expect(await search("dot_general")).toHaveLength(6);
  expect((await search("dot_general blocks_2"))[0]?.instances).toEqual({
    [byLabel((await view()).nodes, "blocks_0").id]: 2,
  });
  expect((await search("f32[*, 3]")).map((hit) => hit.label)).toContain("result");
  expect(await search("f32[..., 999]")).toHaveLength(0);
  const line = (await host.request("tvls/graph/node", { captureId: ID, node: "op:Tower/stem/add.0" })).frames?.[0]
    ?.line;
  expect((await search(`tower.py:${line} stem`)).length).toBeGreaterThan(0);
  expect(await search("tower.py:9999")).toHaveLength(0);
  expect(await search("")).toHaveLength(0);
  expect(words("f32[*, 64]  dot")).toEqual(["f32[*, 64]", "dot"]);
});

test("what needs a server says so", async () => {
  await expect(host.request("tvls/graph/open", {})).rejects.toThrow(/no server/);
});

test("bodies are graphs of their own", async () => {
  const rnn = hostOf(recorded("rnn"));
  const scan = byLabel((await rnn.request("tvls/graph/view", { captureId: ID })).nodes, "scan");
  const body = scan.bodies?.[0];
  const inside = await rnn.request("tvls/graph/view", { captureId: ID, body: body?.id as string });
  expect(labels(inside.nodes)).toContain("tanh");
});
