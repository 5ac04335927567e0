import { expect, test } from "vitest";
import { layout } from "../src/layout";
import { estimate } from "../src/measure";
import { layoutEdges, layoutNodes, picture } from "../src/model";
import type * as p from "../src/protocol";

const value = (shape: number[], name?: string): p.ValueInfo => ({ shape, dtype: "float32", ...(name ? { name } : {}) });
const operation = (id: string, extra: Partial<p.Node> = {}): p.Node => ({ id, kind: "operation", label: id, ...extra });

test("parameters and constants are chips of the box that reads them", () => {
  const state = ["a/kernel", "a/bias", "b/kernel", "b/bias"].map((name) => value([4], name));
  const { boxes } = picture([operation("dot", { state, stateTotal: 30, constants: [value([2])] })], [], estimate);
  const chips = boxes.get("dot")?.chips ?? [];
  expect(chips.map((chip) => chip.kind)).toEqual(["state", "state", "more"]);
  expect(chips[0]?.text).toBe("kernel f32[4]");
  // 30 parameters and one constant are known of, two are shown.
  expect(chips[2]?.text).toBe("+29 more");
});

test("a boundary offers its bodies", () => {
  const bodies = [{ id: "b1", role: "body", label: "body", operations: 22 }];
  const box = picture([operation("scan", { opaque: "opaque_kernel", bodies })], [], estimate).boxes.get("scan");
  expect(box?.kind).toBe("boundary");
  expect(box?.chips[0]).toMatchObject({ kind: "body", body: "b1" });
});

test("a function with the operators that ran below it is an operation, and no boundary", () => {
  const body = (role: string): p.BodyInfo => ({ id: "b", role, label: "linear: operators that ran", operations: 2 });
  const kind = (node: p.Node) => picture([node], [], estimate).boxes.get(node.id)?.kind;
  expect(kind({ ...operation("a"), bodies: [body("aten")] })).toBe("operation");
  expect(kind({ ...operation("a"), bodies: [body("body")] })).toBe("boundary");
  expect(kind({ ...operation("a"), opaque: "opaque_kernel" })).toBe("boundary");
});

test("one line joins two boxes, whatever flows between them", () => {
  const nodes = [operation("a"), operation("b")];
  const edge = (argument: number, shape: number[]): p.Edge => ({
    source: "a",
    target: "b",
    value: value(shape),
    argument,
  });
  const label = (...edges: p.Edge[]) => [...picture(nodes, edges, estimate).lines.values()][0]?.label;
  expect(label(edge(0, [2, 3]))).toBe("f32[2,3]");
  expect(label(edge(0, [2, 3]), edge(1, [2, 3]))).toBe("f32[2,3] ×2");
  expect(label(edge(0, [2, 3]), edge(1, [4]))).toBe("f32[2,3] +1");
  expect(picture(nodes, [edge(0, [2]), edge(1, [2])], estimate).lines.size).toBe(1);
});

test("an edge whose source is on a page that was not fetched is left out", () => {
  expect(picture([operation("b")], [{ source: "a", target: "b", value: value([1]) }], estimate).lines.size).toBe(0);
});

test("a folded box names its range and how many it stands for", () => {
  const fold: p.FoldInfo = {
    count: 32,
    first: "layers_0",
    last: "layers_31",
    shown: "s",
    operations: 2528,
    costs: { parameters: 6_000_000 },
  };
  const box = picture([{ id: "s", kind: "scope", label: "layers_0", operations: 79, fold }], [], estimate).boxes.get(
    "s",
  );
  expect(box).toMatchObject({
    title: "layers_0 … layers_31",
    times: 32,
    subtitle: "32 × 79 ops · 6.00M params in all",
  });
});

test("a box has room for its widest text", () => {
  const short = picture([operation("add")], [], estimate).boxes.get("add");
  const long = picture([operation("add", { state: [value([50257, 768], "wte/embedding")] })], [], estimate).boxes.get(
    "add",
  );
  expect(long?.width).toBeGreaterThan((short?.width ?? 0) + 40);
});

test("what is drawn can be laid out: every box and line has a place", () => {
  const nodes: p.Node[] = [
    { id: "in", kind: "input", label: "x" },
    { id: "s", kind: "scope", label: "Dense", expanded: true, operations: 2 },
    operation("a", { parent: "s" }),
    operation("b", { parent: "s" }),
    { id: "out", kind: "output", label: "result" },
  ];
  const edges = [
    ["in", "a"],
    ["a", "b"],
    ["b", "out"],
  ].map(([source, target]) => ({
    source: source as string,
    target: target as string,
    value: value([2]),
  }));
  const drawn = picture(nodes, edges, estimate);
  const places = layout(layoutNodes(drawn), layoutEdges(drawn, estimate));
  expect([...places.boxes.keys()].sort()).toEqual(nodes.map((node) => node.id).sort());
  expect(places.edges.size).toBe(3);
  expect(drawn.boxes.get("a")?.depth).toBe(1);
});
