import { expect, test } from "vitest";
import { keyAction } from "../src/keys";
import { layout } from "../src/layout";
import { estimate } from "../src/measure";
import { layoutEdges, layoutNodes, picture } from "../src/model";
import { walk } from "../src/walk";

const nodes = ["a", "b", "c", "d"].map((id) => ({ id, kind: "operation" as const, label: id }));
const edges = [
  ["a", "b"],
  ["a", "c"],
  ["b", "d"],
  ["c", "d"],
].map(([source, target]) => ({
  source: source as string,
  target: target as string,
  value: { shape: [1], dtype: "float32" },
}));
const drawn = picture(nodes, edges, estimate);
const { boxes } = layout(layoutNodes(drawn), layoutEdges(drawn, estimate));
const go = (from: string | undefined, to: "up" | "down" | "left" | "right") => walk(drawn, boxes, from, to);

test("down follows the data, up goes against it", () => {
  expect(["b", "c"]).toContain(go("a", "down"));
  expect(go("b", "down")).toBe("d");
  expect(["b", "c"]).toContain(go("d", "up"));
  expect(go("c", "up")).toBe("a");
});

test("left and right go to neighbours", () => {
  const [left, right] = (boxes.get("b")?.x ?? 0) < (boxes.get("c")?.x ?? 0) ? ["b", "c"] : ["c", "b"];
  expect(go(left, "right")).toBe(right);
  expect(go(right, "left")).toBe(left);
});

test("the walk begins at the first box, and ends at the last", () => {
  expect(go(undefined, "down")).toBe("a");
  expect(go("gone", "down")).toBe("a");
  expect(go("d", "down")).toBeUndefined();
});

test("every box can be reached with the arrows from the first", () => {
  const reached = new Set(["a"]);
  for (const id of reached) {
    for (const to of ["up", "down", "left", "right"] as const) {
      const next = go(id, to);
      if (next) reached.add(next);
    }
  }
  expect(reached).toEqual(new Set(["a", "b", "c", "d"]));
});

test("keys of the picture belong to it alone, and shortcuts of the browser stay its own", () => {
  const plain = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  expect(keyAction({ ...plain, key: "ArrowDown" }, true)).toEqual({ do: "walk", to: "down" });
  expect(keyAction({ ...plain, key: "ArrowDown" }, false)).toBeUndefined();
  expect(keyAction({ ...plain, key: "ArrowDown", shiftKey: true }, true)).toMatchObject({ do: "pan" });
  expect(keyAction({ ...plain, key: "Enter" }, false)).toBeUndefined();
  expect(keyAction({ ...plain, key: "f", ctrlKey: true }, true)).toBeUndefined();
  expect(keyAction({ ...plain, key: "?", shiftKey: true }, true)).toEqual({ do: "help" });
});
