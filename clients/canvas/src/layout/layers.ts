/** Cells → layers, with a dummy wherever an edge passes one. */

import {
  type Cell,
  type Group,
  type Link,
  nameOf,
  newCell,
  newPort,
  type Part,
  type Port,
  type Segment,
} from "./model.js";

export function assignLayers(group: Group): void {
  const byPart = new Map<Part, { cells: Cell[]; segments: Segment[]; norths: Cell[]; souths: Cell[] }>();
  for (const part of group.parts) byPart.set(part, { cells: [], segments: [], norths: [], souths: [] });
  for (const cell of group.cells) if (cell.part !== null) byPart.get(cell.part)?.cells.push(cell);
  for (const segment of group.segments) byPart.get(segment.from.cell.part as Part)?.segments.push(segment);
  const main = byPart.get(group.parts[0] as Part);
  main?.norths.push(...group.norths);
  main?.souths.push(...group.souths);
  for (const [part, { cells, segments, norths, souths }] of byPart) {
    rankCells(cells, segments);
    const first = norths.length > 0 ? 1 : 0;
    let count = 0;
    for (const cell of cells) {
      cell.layer += first;
      count = Math.max(count, cell.layer + 1);
    }
    count = Math.max(count, first);
    for (const cell of souths) cell.layer = count;
    if (souths.length > 0) count++;
    part.layers = Array.from({ length: count }, () => []);
    for (const list of [norths, cells, souths]) for (const cell of list) part.layers[cell.layer]?.push(cell);
    for (const segment of segments) makeLinks(part, segment);
    markStreams(segments);
  }
}

/** Longest paths from above; then what has more below than above moves down to it. */
function rankCells(cells: Cell[], segments: Segment[]): void {
  const above = new Map<Cell, Set<Cell>>();
  const below = new Map<Cell, Set<Cell>>();
  const pulledUp = new Set<Cell>();
  for (const cell of cells) {
    above.set(cell, new Set());
    below.set(cell, new Set());
  }
  for (const { from, to } of segments) {
    const upper = below.get(from.cell);
    const lower = above.get(to.cell);
    if (upper !== undefined && lower !== undefined) {
      upper.add(to.cell);
      lower.add(from.cell);
    } else if (lower !== undefined) pulledUp.add(to.cell);
  }
  const isFirst = (cell: Cell): boolean => cell.rank === "first" && above.get(cell)?.size === 0;
  const isLast = (cell: Cell): boolean => cell.rank === "last" && below.get(cell)?.size === 0;
  const anyFirst = cells.some(isFirst);

  const order: Cell[] = [];
  const waiting = new Map<Cell, number>();
  for (const cell of cells) {
    const count = above.get(cell)?.size ?? 0;
    waiting.set(cell, count);
    cell.layer = anyFirst && !isFirst(cell) ? 1 : 0;
    if (count === 0) order.push(cell);
  }
  for (let i = 0; i < order.length; i++) {
    const cell = order[i] as Cell;
    for (const next of below.get(cell) ?? []) {
      next.layer = Math.max(next.layer, cell.layer + 1);
      const left = (waiting.get(next) ?? 0) - 1;
      waiting.set(next, left);
      if (left === 0) order.push(next);
    }
  }
  for (let i = order.length - 1; i >= 0; i--) {
    const cell = order[i] as Cell;
    const next = below.get(cell) as Set<Cell>;
    if (next.size === 0 || isFirst(cell)) continue;
    const pull = (above.get(cell)?.size ?? 0) + (pulledUp.has(cell) ? 1 : 0);
    if (pull >= next.size) continue;
    let limit = Number.POSITIVE_INFINITY;
    for (const one of next) limit = Math.min(limit, one.layer - 1);
    cell.layer = limit;
  }
  let deepest = 0;
  for (const cell of cells) if (!isLast(cell)) deepest = Math.max(deepest, cell.layer + 1);
  for (const cell of cells) if (isLast(cell)) cell.layer = deepest;

  const used = [...new Set(cells.map((cell) => cell.layer))].sort((a, b) => a - b);
  const compact = new Map(used.map((layer, i) => [layer, i]));
  for (const cell of cells) cell.layer = compact.get(cell.layer) as number;
}

function makeLinks(part: Part, segment: Segment): void {
  const { from, to, weight } = segment;
  const start = from.cell.layer;
  const weak = from.weak;
  let at = from;
  for (let layer = start + 1; layer < to.cell.layer; layer++) {
    let dummy = from.trunk[layer - start - 1];
    if (dummy === undefined) {
      dummy = newCell("dummy", `${nameOf(from)}\n${layer - start}`);
      dummy.layer = layer;
      dummy.part = part;
      dummy.tops.push(newPort(dummy, weak));
      dummy.bottoms.push(newPort(dummy, weak));
      from.trunk.push(dummy);
      part.layers[layer]?.push(dummy);
      const link: Link = { upper: at, lower: dummy.tops[0] as Port, weight: 0, weak, stream: false };
      link.upper.links.push(link);
      link.lower.links.push(link);
    }
    const link = (dummy.tops[0] as Port).links[0] as Link;
    link.weight += weight;
    segment.links.push(link);
    at = dummy.bottoms[0] as Port;
  }
  const link: Link = { upper: at, lower: to, weight, weak, stream: false };
  at.links.push(link);
  to.links.push(link);
  segment.links.push(link);
}

/**
 * A stream goes from a place to the nearest box that also has other inputs, where something else that starts there has
 * no other inputs: `x` in `x + f(x)`, but not a mask that many boxes use.
 */
function markStreams(segments: Segment[]): void {
  const sources = new Map<Cell, Set<Cell>>();
  const leaving = new Map<Port, Segment[]>();
  for (const segment of segments) {
    if (segment.from.weak) continue;
    const known = sources.get(segment.to.cell);
    if (known === undefined) sources.set(segment.to.cell, new Set([segment.from.cell]));
    else known.add(segment.from.cell);
    const others = leaving.get(segment.from);
    if (others === undefined) leaving.set(segment.from, [segment]);
    else others.push(segment);
  }
  for (const together of leaving.values()) {
    if (together.length < 2) continue;
    let nearest: Segment | null = null;
    let branch = Number.POSITIVE_INFINITY;
    for (const segment of together) {
      const layer = segment.to.cell.layer;
      if (sources.get(segment.to.cell)?.size === 1) branch = Math.min(branch, layer);
      else if (nearest === null || layer < nearest.to.cell.layer) nearest = segment;
    }
    if (nearest !== null && branch < nearest.to.cell.layer) for (const link of nearest.links) link.stream = true;
  }
}
