/** What is true of every layout, and measures of how good one is. Geometry only: any engine's result can be measured. */

import type { Box, EdgePath, LayoutNode, LayoutResult, Point } from "../../src/layout/index.js";
import type { Graph } from "./graphs.js";

const EPSILON = 0.01;

export interface Drawing {
  boxes: Map<string, Box>;
  edges: Map<string, EdgePath>;
}

interface Tree {
  nodes: Map<string, LayoutNode>;
  parent: (id: string) => string;
}

function tree({ nodes }: Graph): Tree {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return {
    nodes: byId,
    parent: (id) => {
      const parent = byId.get(id)?.parent ?? "";
      return byId.has(parent) ? parent : "";
    },
  };
}

function overlap(a: Box, b: Box): boolean {
  return (
    a.x < b.x + b.width - EPSILON &&
    b.x < a.x + a.width - EPSILON &&
    a.y < b.y + b.height - EPSILON &&
    b.y < a.y + a.height - EPSILON
  );
}

/** Pairs of boxes of one parent that overlap. */
export function overlaps(graph: Graph, drawing: Drawing): string[] {
  const { parent } = tree(graph);
  const children = new Map<string, string[]>();
  for (const { id } of graph.nodes) {
    const known = children.get(parent(id));
    if (known === undefined) children.set(parent(id), [id]);
    else known.push(id);
  }
  const found: string[] = [];
  for (const ids of children.values()) {
    const boxes = ids.map((id) => ({ id, box: drawing.boxes.get(id) as Box })).sort((p, q) => p.box.y - q.box.y);
    boxes.forEach((a, i) => {
      for (let j = i + 1; j < boxes.length; j++) {
        const b = boxes[j] as (typeof boxes)[number];
        if (b.box.y >= a.box.y + a.box.height) break;
        if (overlap(a.box, b.box)) found.push(`${a.id} and ${b.id}`);
      }
    });
  }
  return found;
}

/** Boxes that reach out of their parent, or over its title. */
export function escapes(graph: Graph, drawing: Drawing): string[] {
  const { nodes, parent } = tree(graph);
  return graph.nodes
    .filter(({ id }) => {
      if (parent(id) === "") return false;
      const box = drawing.boxes.get(id) as Box;
      const around = drawing.boxes.get(parent(id)) as Box;
      const header = nodes.get(parent(id))?.headerHeight ?? 0;
      return (
        box.x < around.x - EPSILON ||
        box.y < around.y + header - EPSILON ||
        box.x + box.width > around.x + around.width + EPSILON ||
        box.y + box.height > around.y + around.height + EPSILON
      );
    })
    .map(({ id }) => id);
}

function ancestors({ parent }: Tree, id: string): Set<string> {
  const found = new Set<string>([id]);
  for (let at = parent(id); at !== "" && !found.has(at); at = parent(at)) found.add(at);
  return found;
}

/** Edges that pass through a box that contains neither of their ends. */
export function trespasses(graph: Graph, drawing: Drawing): string[] {
  const known = tree(graph);
  const found: string[] = [];
  const boxes = graph.nodes.map(({ id }) => ({ id, box: drawing.boxes.get(id) as Box }));
  for (const edge of graph.edges) {
    const path = drawing.edges.get(edge.id);
    if (path === undefined) continue;
    const mine = new Set([...ancestors(known, edge.source), ...ancestors(known, edge.target)]);
    for (const { id, box } of boxes) {
      if (mine.has(id)) continue;
      if (pairs(path.points).some(([a, b]) => meets(a, b, box))) found.push(`${edge.id} through ${id}`);
    }
  }
  return found;
}

/** Whether a segment meets the inside of a box (Liang and Barsky). */
function meets(a: Point, b: Point, box: Box): boolean {
  let t0 = 0;
  let t1 = 1;
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  for (const [p, q] of [
    [-dx, a.x - box.x - EPSILON],
    [dx, box.x + box.width - EPSILON - a.x],
    [-dy, a.y - box.y - EPSILON],
    [dy, box.y + box.height - EPSILON - a.y],
  ] as [number, number][]) {
    if (p === 0) {
      if (q < 0) return false;
    } else if (p < 0) t0 = Math.max(t0, q / p);
    else t1 = Math.min(t1, q / p);
  }
  return t0 < t1;
}

export function pairs(points: Point[]): [Point, Point][] {
  return points.slice(1).map((point, i) => [points[i] as Point, point]);
}

/** Edges that do not begin on the border of their source and end on that of their target. */
export function loose(graph: Graph, drawing: Drawing): string[] {
  const on = (point: Point | undefined, box: Box): boolean => {
    if (point === undefined) return false;
    const inX = point.x >= box.x - EPSILON && point.x <= box.x + box.width + EPSILON;
    const inY = point.y >= box.y - EPSILON && point.y <= box.y + box.height + EPSILON;
    const edgeX = Math.min(Math.abs(point.x - box.x), Math.abs(point.x - box.x - box.width)) < EPSILON;
    const edgeY = Math.min(Math.abs(point.y - box.y), Math.abs(point.y - box.y - box.height)) < EPSILON;
    return inX && inY && (edgeX || edgeY);
  };
  return graph.edges
    .filter(({ id, source, target }) => {
      const points = drawing.edges.get(id)?.points ?? [];
      const from = drawing.boxes.get(source);
      const to = drawing.boxes.get(target);
      if (from === undefined || to === undefined) return points.length > 0;
      return !on(points[0], from) || !on(points.at(-1), to);
    })
    .map(({ id }) => id);
}

/** Edges of an acyclic drawing that go up somewhere. */
export function upwards(graph: Graph, drawing: Drawing): string[] {
  return graph.edges
    .filter(({ id, source, target }) => {
      if (source === target) return false;
      return pairs(drawing.edges.get(id)?.points ?? []).some(([a, b]) => b.y < a.y - EPSILON);
    })
    .map(({ id }) => id);
}

/** Labels that overlap a box which is not around them, or each other. */
export function hiddenLabels(graph: Graph, drawing: Drawing): string[] {
  const known = tree(graph);
  const labels: { id: string; box: Box; around: Set<string> }[] = [];
  for (const edge of graph.edges) {
    const at = drawing.edges.get(edge.id)?.label;
    if (at !== undefined && edge.label !== undefined) {
      labels.push({ id: edge.id, box: { ...at, ...edge.label }, around: ancestors(known, known.parent(edge.source)) });
    }
  }
  const found: string[] = [];
  labels.forEach((label, i) => {
    for (const node of graph.nodes) {
      if (!label.around.has(node.id) && overlap(label.box, drawing.boxes.get(node.id) as Box))
        found.push(`${label.id} on ${node.id}`);
    }
    for (const other of labels.slice(i + 1)) {
      if (overlap(label.box, other.box)) found.push(`${label.id} on ${other.id}`);
    }
  });
  return found;
}

interface Line {
  edge: number;
  a: Point;
  b: Point;
}

/**
 * Pairs of segments of different edges that cross at one inner point. Edges that share an end or run together do not
 * cross there.
 */
export function crossings(drawing: Drawing): number {
  const lines: Line[] = [];
  let edge = 0;
  for (const { points } of drawing.edges.values()) {
    for (const [a, b] of pairs(points)) lines.push(a.y <= b.y ? { edge, a, b } : { edge, a: b, b: a });
    edge++;
  }
  lines.sort((p, q) => p.a.y - q.a.y);
  let count = 0;
  let active: Line[] = [];
  for (const line of lines) {
    active = active.filter((other) => other.b.y >= line.a.y);
    for (const other of active) if (other.edge !== line.edge && cross(other, line)) count++;
    active.push(line);
  }
  return count;
}

function side(a: Point, b: Point, c: Point): number {
  const value = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  return Math.abs(value) < 1e-6 ? 0 : Math.sign(value);
}

function cross(p: Line, q: Line): boolean {
  if (Math.max(p.a.x, p.b.x) < Math.min(q.a.x, q.b.x) || Math.max(q.a.x, q.b.x) < Math.min(p.a.x, p.b.x)) return false;
  return side(p.a, p.b, q.a) * side(p.a, p.b, q.b) < 0 && side(q.a, q.b, p.a) * side(q.a, q.b, p.b) < 0;
}

/** All that is wrong with a layout of an acyclic graph. */
export function faults(graph: Graph, result: LayoutResult): string[] {
  const found = [
    ...overlaps(graph, result).map((one) => `overlap: ${one}`),
    ...escapes(graph, result).map((one) => `outside its parent: ${one}`),
    ...trespasses(graph, result).map((one) => `edge through a box: ${one}`),
    ...loose(graph, result).map((one) => `loose end: ${one}`),
    ...hiddenLabels(graph, result).map((one) => `label: ${one}`),
  ];
  for (const [id, box] of result.boxes) {
    if (![box.x, box.y, box.width, box.height].every(Number.isFinite)) found.push(`not a number: ${id}`);
    if (box.x < -EPSILON || box.y < -EPSILON || box.x + box.width > result.width + EPSILON)
      found.push(`outside the canvas: ${id}`);
    if (box.y + box.height > result.height + EPSILON) found.push(`outside the canvas: ${id}`);
  }
  if (result.boxes.size !== graph.nodes.length) found.push("a box is missing");
  return found;
}
