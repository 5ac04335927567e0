/** Graphs to lay out: seeded random ones, and shapes that are known to be hard. */

import type { LayoutEdge, LayoutNode } from "../../src/layout/index.js";

export interface Graph {
  nodes: LayoutNode[];
  edges: LayoutEdge[];
}

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * An acyclic program of `count` boxes in nested groups. Most boxes use what was made shortly before, some use something
 * far away, as residual streams, masks and parameters do. Each group is a stretch of the program, so no group depends on
 * itself.
 */
export function nested(count: number, seed: number, options: { labels?: boolean; cycles?: boolean } = {}): Graph {
  const next = random(seed);
  const nodes: LayoutNode[] = [];
  const edges: LayoutEdge[] = [];
  const leaves: string[] = [];
  const open: string[] = [""];
  const left: number[] = [Number.POSITIVE_INFINITY];
  let groups = 0;
  while (leaves.length < count) {
    while ((left.at(-1) as number) <= 0) {
      open.pop();
      left.pop();
    }
    const parent = open.at(-1) as string;
    if (open.length < 6 && next() < 0.12) {
      const id = `g${groups++}`;
      nodes.push({ id, parent, width: 120, height: 40, expanded: true, headerHeight: 24 });
      open.push(id);
      left.push(2 + Math.floor(next() * 14));
      continue;
    }
    const id = `n${leaves.length}`;
    const collapsed = next() < 0.1;
    nodes.push({
      id,
      parent,
      width: 60 + Math.floor(next() * 120),
      height: collapsed ? 44 : 28,
      ...(collapsed ? { expanded: false } : {}),
    });
    const inputs = leaves.length === 0 ? 0 : 1 + Math.floor(next() * next() * 4);
    for (let i = 0; i < inputs; i++) {
      const back = next() < 0.12 ? Math.floor(next() * leaves.length) : Math.floor(next() * Math.min(4, leaves.length));
      edges.push({
        id: `e${edges.length}`,
        source: leaves[leaves.length - 1 - back] as string,
        target: id,
        ...(options.labels ? { label: { width: 50 + Math.floor(next() * 40), height: 12 } } : {}),
      });
    }
    leaves.push(id);
    for (let i = 0; i < left.length; i++) left[i] = (left[i] as number) - 1;
  }
  if (options.cycles) {
    for (let i = 0; i < count / 10; i++) {
      const pick = (): string => (nodes[Math.floor(next() * nodes.length)] as LayoutNode).id;
      edges.push({ id: `c${i}`, source: pick(), target: pick() });
    }
  }
  return { nodes, edges };
}
