// The canvas's layout: R26 (readable), R29 (stable under expand and collapse). Invariants over random graphs and views of
// real captures, and input that is valid but odd.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type LayoutEdge, type LayoutNode, type LayoutResult, layout, movedBy } from "../../src/layout/index.js";
import { crossings, escapes, faults, hiddenLabels, loose, overlaps, trespasses, upwards } from "./checks.js";
import { type Graph, nested } from "./graphs.js";

/**
 * Views (`tvls/graph/view`) of a Linen encoder, GPT-2 (`examples/`), a ResNet and a train step with gradients, with more
 * or fewer scopes expanded; sizes are those of their labels, inputs come first and outputs last.
 */
const VIEWS = new URL("views/", import.meta.url);
const MINUTE = 60_000;
/** For lines that come or go beside a box. */
const SLACK = 60;

function view(file: string): Graph {
  return JSON.parse(readFileSync(new URL(file, VIEWS), "utf8")) as Graph;
}

function node(id: string, parent = "", more: Partial<LayoutNode> = {}): LayoutNode {
  return { id, parent, width: 80, height: 28, ...more };
}

function group(id: string, parent = ""): LayoutNode {
  return node(id, parent, { expanded: true, headerHeight: 24 });
}

function edge(source: string, target: string, more: Partial<LayoutEdge> = {}): LayoutEdge {
  return { id: `${source}>${target}`, source, target, ...more };
}

function run({ nodes, edges }: Graph, previous?: LayoutResult): LayoutResult {
  return layout(nodes, edges, previous === undefined ? {} : { previous });
}

function center(result: LayoutResult, id: string): number {
  const box = result.boxes.get(id);
  if (box === undefined) throw new Error(`no box ${id}`);
  return box.x + box.width / 2;
}

describe("random nested groups", () => {
  for (const [count, seeds] of [
    [1, 4],
    [2, 8],
    [5, 20],
    [20, 20],
    [60, 10],
    [200, 4],
    [500, 2],
  ] as const) {
    it(
      `keep boxes apart and lines outside them: ${count} boxes`,
      () => {
        for (let seed = 1; seed <= seeds; seed++) {
          const graph = nested(count, seed, { labels: seed % 2 === 0 });
          const result = run(graph);
          expect(faults(graph, result), `seed ${seed}`).toEqual([]);
          expect(upwards(graph, result), `seed ${seed}`).toEqual([]);
        }
      },
      MINUTE,
    );
  }

  it("are laid out with cycles, self-edges and edges to groups", () => {
    for (let seed = 1; seed <= 12; seed++) {
      const graph = nested(40, seed, { cycles: true });
      expect(faults(graph, run(graph)), `seed ${seed}`).toEqual([]);
    }
  });

  it("come out the same for the same input", () => {
    const graph = nested(150, 5, { labels: true });
    expect(run(graph)).toEqual(run(structuredClone(graph)));
  });
});

describe("views of real captures", () => {
  for (const file of readdirSync(VIEWS).sort()) {
    it(
      file,
      () => {
        const graph = view(file);
        const result = run(graph);
        expect(faults(graph, result)).toEqual([]);
        expect(upwards(graph, result)).toEqual([]);
        const again = run(graph, result);
        expect(faults(graph, again)).toEqual([]);
      },
      MINUTE,
    );
  }

  it("a residual stream is one straight line", () => {
    const graph = view("gpt2-blocks.json");
    const result = run(graph);
    const adds = graph.nodes.filter(({ id }) => /transformer\/h\/\d+\/add\.\d+$/.test(id)).map(({ id }) => id);
    expect(adds.length).toBe(24);
    expect(new Set(adds.map((id) => Math.round(center(result, id)))).size).toBe(1);
  });
});

describe("reading", () => {
  it("puts a chain on one axis", () => {
    const ids = ["a", "b", "c", "d", "e"];
    const nodes = ids.map((id, i) => node(id, "", { width: 60 + 30 * i }));
    const result = layout(
      nodes,
      ids.slice(1).map((id, i) => edge(ids[i] as string, id)),
    );
    expect(new Set(ids.map((id) => center(result, id))).size).toBe(1);
    for (const path of result.edges.values()) expect(path.points.length).toBe(2);
  });

  it("enters an expanded group beside its title", () => {
    const titles = { left: 130, right: 90 };
    const open = { ...group("g"), width: 220, titles };
    for (const count of [1, 12]) {
      const sources = Array.from({ length: count }, (_, i) => node(`x${i}`));
      const graph = {
        nodes: [...sources, open, node("a", "g"), node("b", "g")],
        edges: [...sources.map(({ id }) => edge(id, "a")), edge("a", "b")],
      };
      const result = run(graph);
      expect(faults(graph, result)).toEqual([]);
      const box = result.boxes.get("g") as { x: number; y: number; width: number };
      for (const { id } of sources) {
        const points = result.edges.get(`${id}>a`)?.points ?? [];
        expect(points.length).toBeGreaterThan(1);
        for (const [p, q] of points.slice(1).map((point, i) => [points[i], point] as const)) {
          if (p === undefined || q.y <= box.y + 0.01 || p.y >= box.y + 24) continue;
          expect(Math.min(p.x, q.x)).toBeGreaterThanOrEqual(box.x + titles.left - 0.01);
          expect(Math.max(p.x, q.x)).toBeLessThanOrEqual(box.x + box.width - titles.right + 0.01);
        }
      }
    }
  });

  it("keeps operands in order where that costs nothing", () => {
    const result = layout([node("a"), node("b"), node("sub")], [edge("b", "sub"), edge("a", "sub")]);
    const end = (id: string): number => result.edges.get(id)?.points.at(-1)?.x ?? Number.NaN;
    expect(end("b>sub")).toBeLessThan(end("a>sub"));
    expect(crossings(result)).toBe(0);
  });

  it("puts first boxes above and last ones below all others", () => {
    const nodes = [node("x", "", { rank: "first" }), node("late", "", { rank: "first" }), node("a"), node("b")];
    nodes.push(node("early", "", { rank: "last" }), node("y", "", { rank: "last" }));
    const edges = [edge("x", "a"), edge("a", "b"), edge("late", "b"), edge("a", "early"), edge("b", "y")];
    const result = layout(nodes, edges);
    const top = (id: string): number => result.boxes.get(id)?.y ?? Number.NaN;
    expect(Math.max(top("x"), top("late"))).toBeLessThan(top("a"));
    expect(Math.min(top("early"), top("y"))).toBeGreaterThan(top("b"));
  });

  it("stacks what would make a row a mile wide", () => {
    const inputs = Array.from({ length: 300 }, (_, i) => node(`p${i}`, "", { rank: "first" }));
    const nodes = [...inputs, node("call", "", { expanded: false, width: 200 })];
    const graph = { nodes, edges: inputs.map(({ id }) => edge(id, "call")) };
    const result = run(graph);
    expect(faults(graph, result)).toEqual([]);
    expect(result.width).toBeLessThan(3000);
    expect(result.height).toBeLessThan(3000);
  });

  it("leaves one label at the place that several edges leave from", () => {
    const label = { width: 60, height: 12 };
    const graph = {
      nodes: [node("a"), node("b"), node("c")],
      edges: [edge("a", "b", { label }), edge("a", "c", { label })],
    };
    const result = run(graph);
    expect(hiddenLabels(graph, result)).toEqual([]);
    expect([...result.edges.values()].filter((path) => path.label !== undefined).length).toBe(1);
  });
});

describe("expanding and collapsing", () => {
  it("keeps the order of siblings", () => {
    for (let seed = 1; seed <= 6; seed++) {
      const open = nested(120, seed);
      const groups = open.nodes.filter((one) => one.expanded === true && one.parent === "");
      const target = groups[seed % groups.length];
      if (target === undefined) continue;
      const closed = collapse(open, target.id);
      const before = run(closed);
      const after = run(open, before);
      expect(faults(open, after)).toEqual([]);
      const siblings = closed.nodes.filter((one) => one.parent === "").map((one) => one.id);
      const rows = (result: LayoutResult): string[] => {
        const found: string[] = [];
        for (const a of siblings) {
          for (const b of siblings) {
            if (sameRow(before, a, b) && sameRow(after, a, b) && center(result, a) < center(result, b))
              found.push(`${a} left of ${b}`);
          }
        }
        return found;
      };
      expect(rows(after), `seed ${seed}`).toEqual(rows(before));
    }
  });

  it("moves nothing when nothing changes", () => {
    const graph = nested(120, 9);
    const first = run(graph);
    expect(run(structuredClone(graph), first)).toEqual({ ...first, memory: expect.anything() });
  });

  it(
    "comes back to the same picture",
    () => {
      const open = view("encoder-two-blocks.json");
      const before = run(open);
      for (const { id } of open.nodes.filter((one) => one.expanded === true)) {
        const after = run(open, run(collapse(open, id), before));
        expect(after.boxes, id).toEqual(before.boxes);
        expect(after.edges, id).toEqual(before.edges);
      }
    },
    MINUTE,
  );

  // R29: what stands outside the group moves sideways by no more than twice what the group grew or shrank, against its middle.
  for (const file of ["encoder-all.json", "encoder-two-blocks.json", "gpt2-blocks.json", "resnet-blocks.json"]) {
    it(
      `moves nothing further than it has to: ${file}`,
      () => {
        const open = view(file);
        const before = run(open);
        const parents = new Map(open.nodes.map((one) => [one.id, one.parent]));
        for (const { id } of open.nodes.filter((one) => one.expanded === true)) {
          const after = run(collapse(open, id), before);
          const around = new Set<string>();
          for (let at = parents.get(id); at !== undefined; at = parents.get(at)) around.add(at);
          const width = (result: LayoutResult): number => result.boxes.get(id)?.width ?? Number.NaN;
          const most = 2 * Math.abs(width(after) - width(before)) + SLACK;
          const by = center(after, id) - center(before, id);
          for (const other of after.boxes.keys()) {
            if (around.has(other)) continue;
            const moved = center(after, other) - center(before, other) - by;
            expect(Math.abs(moved), `${other} when ${id} is collapsed`).toBeLessThanOrEqual(most);
          }
        }
      },
      MINUTE,
    );
  }

  it("tells how far a box moved", () => {
    const graph = nested(30, 2);
    const first = run(graph);
    expect(movedBy("n3", first, first)).toEqual({ x: 0, y: 0 });
    expect(movedBy("none", first, first)).toEqual({ x: 0, y: 0 });
  });
});

function sameRow(result: LayoutResult, a: string, b: string): boolean {
  const p = result.boxes.get(a);
  const q = result.boxes.get(b);
  return p !== undefined && q !== undefined && p.y < q.y + q.height && q.y < p.y + p.height;
}

/** The graph with one top-level group collapsed: its contents' edges are its own. */
function collapse(graph: Graph, id: string): Graph {
  const parents = new Map(graph.nodes.map((one) => [one.id, one.parent]));
  const inside = (at: string): boolean => {
    for (let up = parents.get(at); up !== undefined; up = parents.get(up)) if (up === id) return true;
    return false;
  };
  const shown = (at: string): string => (inside(at) ? id : at);
  const seen = new Set<string>();
  return {
    nodes: graph.nodes
      .filter((one) => !inside(one.id))
      .map((one) => (one.id === id ? { ...one, expanded: false } : one)),
    edges: graph.edges
      .map((one) => ({ ...one, source: shown(one.source), target: shown(one.target) }))
      .filter(({ source, target }) => {
        const key = `${source} ${target}`;
        if (source === target || seen.has(key)) return false;
        seen.add(key);
        return true;
      }),
  };
}

describe("odd but valid input", () => {
  const cases: Record<string, Graph> = {
    nothing: { nodes: [], edges: [] },
    "an empty group": { nodes: [group("g")], edges: [] },
    "one box in one group": { nodes: [group("g"), node("a", "g")], edges: [] },
    "edges between a group and what is inside": {
      nodes: [group("g"), node("a", "g"), group("h", "g"), node("b", "h")],
      edges: [edge("g", "a"), edge("a", "g"), edge("g", "b"), edge("b", "g"), edge("h", "b")],
    },
    "edges from and to expanded groups": {
      nodes: [node("x"), group("g"), node("a", "g"), group("h"), node("b", "h"), node("y")],
      edges: [edge("x", "g"), edge("g", "h"), edge("a", "h"), edge("h", "y"), edge("b", "y")],
    },
    "a box that feeds itself, twice, beside others": {
      nodes: [node("a"), node("b"), node("c")],
      edges: [edge("a", "a"), { ...edge("a", "a"), id: "again" }, edge("a", "b"), edge("a", "c"), edge("b", "b")],
    },
    "the same edge three times": {
      nodes: [node("a"), node("b")],
      edges: [0, 1, 2].map((i) => ({ ...edge("a", "b"), id: `e${i}` })),
    },
    "a group that depends on itself through another box": {
      nodes: [group("g"), node("a", "g"), node("b", "g"), node("c")],
      edges: [edge("a", "c"), edge("c", "b"), edge("a", "b")],
    },
    "2,000 boxes without edges": { nodes: Array.from({ length: 2000 }, (_, i) => node(`n${i}`)), edges: [] },
    "groups 50 deep": {
      nodes: [
        ...Array.from({ length: 50 }, (_, i) => group(`g${i}`, i === 0 ? "" : `g${i - 1}`)),
        node("a", "g49"),
        node("x"),
        node("y"),
      ],
      edges: [edge("x", "a"), edge("a", "y"), edge("x", "y")],
    },
    "a star of 500 out": star(500, true),
    "a star of 500 in": star(500, false),
    "a chain of 2,000": {
      nodes: Array.from({ length: 2000 }, (_, i) => node(`n${i}`)),
      edges: Array.from({ length: 1999 }, (_, i) => edge(`n${i}`, `n${i + 1}`)),
    },
    "boxes without a size": { nodes: [node("a", "", { width: 0, height: 0 }), node("b")], edges: [edge("a", "b")] },
  };
  for (const [name, graph] of Object.entries(cases)) {
    it(name, () => expect(faults(graph, run(graph))).toEqual([]), MINUTE);
  }

  it("an edge whose end is not there has no path, a parent that is not there is none", () => {
    const result = layout([node("a", "gone"), node("b")], [edge("a", "b"), edge("a", "far"), edge("far", "b")]);
    expect([...result.edges.keys()]).toEqual(["a>b"]);
  });

  it("parents in a circle stand at the top level", () => {
    const result = layout([group("a", "b"), group("b", "a"), group("c", "c")], []);
    expect(result.boxes.size).toBe(3);
  });

  it("two nodes with one id are refused", () => {
    expect(() => layout([node("a"), node("a")], [])).toThrow('the id "a"');
  });
});

function star(count: number, out: boolean): Graph {
  const tips = Array.from({ length: count }, (_, i) => node(`n${i}`));
  return {
    nodes: [node("hub"), ...tips],
    edges: tips.map(({ id }) => (out ? edge("hub", id) : edge(id, "hub"))),
  };
}

describe("the checks themselves", () => {
  const drawing = (
    boxes: Record<string, [number, number, number, number]>,
    edges: Record<string, [number, number][]> = {},
  ): LayoutResult => ({
    boxes: new Map(Object.entries(boxes).map(([id, [x, y, width, height]]) => [id, { x, y, width, height }])),
    edges: new Map(Object.entries(edges).map(([id, points]) => [id, { points: points.map(([x, y]) => ({ x, y })) }])),
    width: 1000,
    height: 1000,
    memory: { drawings: new Map(), latest: new Map(), columns: new Map(), made: 0 },
  });
  const graph: Graph = { nodes: [group("g"), node("a", "g"), node("b"), node("c")], edges: [edge("b", "c")] };
  const good = { g: [0, 0, 100, 100], a: [10, 40, 20, 20], b: [200, 0, 20, 20], c: [200, 100, 20, 20] } as const;

  it("see overlaps, escapes, trespassing, loose ends, upward lines and crossings", () => {
    const with_ = (more: object, line: [number, number][]): LayoutResult =>
      drawing({ ...(good as object), ...more } as never, { "b>c": line });
    const straight: [number, number][] = [
      [210, 20],
      [210, 100],
    ];
    expect(faults(graph, with_({}, straight))).toEqual([]);
    expect(overlaps(graph, with_({ b: [90, 90, 20, 20] }, straight))).toEqual(["g and b"]);
    expect(escapes(graph, with_({ a: [10, 10, 20, 20] }, straight))).toEqual(["a"]);
    expect(
      trespasses(
        graph,
        with_({}, [
          [210, 20],
          [50, 50],
          [210, 100],
        ]),
      ),
    ).toContain("b>c through g");
    expect(
      loose(
        graph,
        with_({}, [
          [210, 21],
          [210, 100],
        ]),
      ),
    ).toEqual(["b>c"]);
    expect(
      upwards(
        graph,
        with_({}, [
          [210, 20],
          [210, 10],
          [210, 100],
        ]),
      ),
    ).toEqual(["b>c"]);
    const two = drawing(
      {},
      {
        p: [
          [0, 0],
          [10, 10],
        ],
        q: [
          [10, 0],
          [0, 10],
        ],
        r: [
          [0, 0],
          [0, 10],
        ],
      },
    );
    expect(crossings(two)).toBe(1);
  });
});
