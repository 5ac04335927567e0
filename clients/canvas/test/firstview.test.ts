import { expect, test } from "vitest";
import { firstView, toOpen } from "../src/firstview";
import { hostOf } from "../src/host/file";
import type * as p from "../src/protocol";
import { recorded } from "./recorded";

const scope = (label: string, operations: number, extra: Partial<p.Node> = {}): p.Node => ({
  id: label,
  kind: "scope",
  label,
  scopeKind: "module",
  operations,
  ...extra,
});
const operation = (label: string): p.Node => ({ id: label, kind: "operation", label });

test("what holds most of the program is opened", () => {
  expect(toOpen([scope("transformer", 1265), operation("transpose"), scope("lm_head", 1)])).toEqual(["transformer"]);
  expect(toOpen([scope("jit", 40, { scopeKind: "jit" })])).toEqual(["jit"]);
});

test("layers of about the same size stay boxes", () => {
  expect(toOpen(Array.from({ length: 8 }, (_, at) => scope(`layer_${at}`, 30)))).toEqual([]);
});

test("repeated layers stay folded, and count as what they are", () => {
  const fold = { count: 6, first: "a", last: "b", shown: "a", operations: 474, costs: {} };
  expect(toOpen([scope("tokens", 5), scope("layers", 79, { fold }), scope("norm", 18), operation("add")])).toEqual([]);
});

test("a picture of two boxes goes on", () => {
  expect(toOpen([scope("Dense_0", 3), operation("relu"), scope("Dense_1", 3)])).toEqual(["Dense_0", "Dense_1"]);
});

test("the first picture of a model shows its layers", async () => {
  const host = hostOf(recorded("tower"));
  const { expanded, view } = await firstView((ids) =>
    host.request("tvls/graph/view", { captureId: "", expanded: [...ids], fold: true }),
  );
  expect(expanded).toEqual([]);
  expect(view.nodes.map((node) => node.label)).toEqual(["x", "stem", "blocks_0", "head", "result"]);
});

test("a scope that would flood the picture stays closed", async () => {
  const many = Array.from({ length: 5000 }, (_, at) => operation(`op${at}`));
  const asked: string[][] = [];
  const { expanded } = await firstView(async (ids) => {
    asked.push([...ids]);
    const nodes = ids.length ? many : [scope("all", 5000)];
    return {
      nodes,
      edges: [],
      total: nodes.length,
      freshness: "fresh",
      evidence: "inferred",
      coverage: { scope: "traced_program", status: "complete", reasons: [] },
    };
  });
  expect(asked).toEqual([[], ["all"]]);
  expect(expanded).toEqual([]);
});
