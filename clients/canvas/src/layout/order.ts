/** Order within layers: sweeps of barycentres through the whole hierarchy, then exchanges of neighbours. */

import type { Cell, Group, Link, Part, Port } from "./model.js";

const SWEEPS = 6;
/** Where a previous layout has settled most of the order. */
const SWEEPS_AGAIN = 2;
/** Further starts of the search through the whole hierarchy: fewer for large ones. */
const LEAST_STARTS = 1;
const MOST_STARTS = 12;
const CELLS_STARTED = 1000;
const LOCAL_SWEEPS = 4;
/** Starts of the search within one part: fewer for large ones. */
const LEAST_TRIES = 1;
const MOST_TRIES = 16;
const CELLS_TRIED = 3000;
const EXCHANGES = 4;

/** Groups that have a drawing already stay as they are; the others must come with those around them, outer ones first. */
export function orderCells(groups: Group[]): void {
  const again = start(groups);
  const sweeps = again ? SWEEPS_AGAIN : SWEEPS;
  // Operands keep their order where that costs nothing: only then may they stand as their sources do.
  const kept = search(groups, { freeOperands: false, sweeps });
  const anyFresh = groups.some((group) => group.parts.some((part) => part.fresh && part.layers.length > 1));
  if (kept === 0 || !anyFresh) return;
  let best = search(groups, { freeOperands: true, sweeps, atMost: kept });
  if (again) return;
  let size = 0;
  for (const { parts } of groups) for (const { layers } of parts) for (const layer of layers) size += layer.length;
  const starts = Math.max(LEAST_STARTS, Math.min(MOST_STARTS, Math.floor(CELLS_STARTED / size)));
  for (let start = 1; start <= starts && best > 0; start++) {
    const saved = save(groups);
    const crossings = search(groups, { freeOperands: true, sweeps, start });
    if (crossings < best) best = crossings;
    else restore(groups, saved);
  }
  for (const group of groups) rankGroup(group);
}

/** A rough order: sweeps alone. */
export function sketchOrder(groups: Group[]): void {
  start(groups);
  search(groups, { freeOperands: true, sweeps: SWEEPS, exchanges: 0 });
}

/** Returns whether a previous layout has settled some of the order. */
function start(groups: Group[]): boolean {
  let again = false;
  for (const group of groups) {
    for (const part of group.parts) {
      for (const layer of part.layers) startOrder(layer);
      let known = 0;
      let size = 0;
      for (const layer of part.layers) {
        size += layer.length;
        for (const cell of layer) if (isKnown(cell)) known++;
      }
      part.settled = known === size;
      part.fresh = known < size / 2;
      again ||= known > 0;
    }
  }
  for (const group of groups) syncBorders(group);
  return again;
}

/** Sweeps and exchanges; leaves the best order that it met, or the one before if none is better than `atMost`. */
function search(
  groups: Group[],
  options: { freeOperands: boolean; sweeps: number; exchanges?: number; atMost?: number; start?: number },
): number {
  const root = groups[0] as Group;
  const { freeOperands, sweeps, exchanges = EXCHANGES, start = 0 } = options;
  let best = options.atMost ?? Number.POSITIVE_INFINITY;
  let saved: Saved | null = options.atMost === undefined ? null : save(groups);
  const consider = (): void => {
    const crossings = countCrossings(groups);
    if (crossings < best) {
      best = crossings;
      saved = save(groups);
    }
  };
  if (start > 0) shuffle(groups, start);
  for (let sweep = 0; sweep < sweeps && best > 0; sweep++) {
    if (sweep % 2 === start % 2) sweepDown(root, freeOperands);
    else sweepUp(root);
    consider();
  }
  if (saved !== null) restore(groups, saved);
  for (let round = 0; best > 0 && round < exchanges; round++) {
    for (const group of groups) rankGroup(group);
    let better = false;
    for (const group of groups) {
      for (const part of group.parts) {
        if (part.settled) continue;
        if (round === 0 && part.fresh) better = refine(group, part, freeOperands) || better;
        better = exchange(part, freeOperands) || better;
      }
    }
    for (const group of groups) syncBorders(group);
    if (!better) break;
    consider();
  }
  if (saved !== null) restore(groups, saved);
  for (const group of groups) rankGroup(group);
  return best;
}

/** Another order to start from, the same every time. */
function shuffle(groups: Group[], seed: number): void {
  let state = seed;
  for (const group of groups) {
    for (const part of group.parts) {
      for (const layer of part.layers) {
        if (layer[0]?.outer !== null) continue;
        for (const cell of layer) {
          state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
          cell.wanted = state;
        }
        settle(layer);
      }
    }
  }
}

function movesTops(cell: Cell, freeOperands: boolean): boolean {
  return !cell.topsKnown && (cell.freeTops || freeOperands);
}

function isKnown(cell: Cell): boolean {
  return !Number.isNaN(cell.hint);
}

function startOrder(layer: Cell[]): void {
  for (let i = 0; i < layer.length; i++) (layer[i] as Cell).wanted = i;
  settle(layer);
}

function number(layer: Cell[]): void {
  for (let i = 0; i < layer.length; i++) (layer[i] as Cell).pos = i;
}

function rankTops(layer: Cell[]): void {
  let rank = 0;
  for (const cell of layer) {
    for (const port of cell.tops) port.rank = rank++;
    if (cell.tops.length === 0) rank++;
  }
}

function rankBottoms(layer: Cell[]): void {
  let rank = 0;
  for (const cell of layer) {
    for (const port of cell.bottoms) port.rank = rank++;
    if (cell.bottoms.length === 0) rank++;
  }
}

function rankGroup(group: Group): void {
  for (const part of group.parts) {
    for (const layer of part.layers) {
      number(layer);
      rankTops(layer);
      rankBottoms(layer);
    }
  }
}

/** Sorts a layer by `wanted`, then as it was; what the previous layout ordered stays in that order. */
function settle(layer: Cell[]): void {
  let known = 0;
  let sorted = true;
  for (let i = 0; i < layer.length; i++) {
    const cell = layer[i] as Cell;
    cell.pos = i;
    if (isKnown(cell)) known++;
    if (i > 0 && (layer[i - 1] as Cell).wanted > cell.wanted) sorted = false;
  }
  if (known === layer.length) layer.sort((p, q) => p.hint - q.hint || p.pos - q.pos);
  else if (known > 0) merge(layer);
  else if (sorted) return;
  else layer.sort(byWanted);
  number(layer);
}

function byWanted(p: Cell, q: Cell): number {
  return p.wanted - q.wanted || p.pos - q.pos;
}

/** What is new in a layer goes between what the previous layout ordered. */
function merge(layer: Cell[]): void {
  const known = layer.filter(isKnown).sort((p, q) => p.hint - q.hint || p.pos - q.pos);
  const unknown = layer.filter((cell) => !isKnown(cell)).sort(byWanted);
  const level = monotone(known.map((cell) => cell.wanted));
  let i = 0;
  let j = 0;
  for (let k = 0; k < layer.length; k++) {
    const next = unknown[j];
    const takeKnown = next === undefined || (i < known.length && (level[i] as number) <= next.wanted);
    layer[k] = (takeKnown ? known[i++] : unknown[j++]) as Cell;
  }
}

/** The nearest sequence that never falls (pool adjacent violators). */
function monotone(values: number[]): number[] {
  const means: number[] = [];
  const counts: number[] = [];
  for (const value of values) {
    let mean = value;
    let count = 1;
    while (means.length > 0 && (means.at(-1) as number) > mean) {
      const other = means.pop() as number;
      const size = counts.pop() as number;
      mean = (mean * count + other * size) / (count + size);
      count += size;
    }
    means.push(mean);
    counts.push(count);
  }
  return means.flatMap((mean, i) => Array.from({ length: counts[i] as number }, () => mean));
}

function upperMean(ports: Port[]): number {
  let sum = 0;
  let count = 0;
  for (const port of ports) {
    for (const link of port.links) sum += link.upper.rank;
    count += port.links.length;
  }
  return count === 0 ? Number.NaN : sum / count;
}

function lowerMean(ports: Port[]): number {
  let sum = 0;
  let count = 0;
  for (const port of ports) {
    for (const link of port.links) sum += link.lower.rank;
    count += port.links.length;
  }
  return count === 0 ? Number.NaN : sum / count;
}

/** Cells without links on that side stay beside what is left of them. */
function fill(cells: { wanted: number }[]): void {
  let last = Number.NEGATIVE_INFINITY;
  for (const cell of cells) {
    if (Number.isNaN(cell.wanted)) cell.wanted = last;
    else last = cell.wanted;
  }
}

function wantUpper(layer: Cell[]): void {
  for (const cell of layer) cell.wanted = upperMean(cell.tops);
  fill(layer);
}

function wantLower(layer: Cell[]): void {
  for (const cell of layer) cell.wanted = lowerMean(cell.bottoms);
  fill(layer);
}

function sortPorts(ports: Port[], mean: (ports: Port[]) => number): void {
  if (ports.length < 2) return;
  const sorted = ports.map((port, i) => ({ port, wanted: mean([port]), i }));
  fill(sorted);
  sorted.sort((p, q) => p.wanted - q.wanted || p.i - q.i);
  for (let i = 0; i < sorted.length; i++) ports[i] = (sorted[i] as { port: Port }).port;
}

function sweepDown(group: Group, freeOperands: boolean): void {
  for (const part of group.parts) {
    for (let l = 0; l < part.layers.length; l++) {
      const layer = part.layers[l] as Cell[];
      if (l > 0) {
        rankBottoms(part.layers[l - 1] as Cell[]);
        wantUpper(layer);
        settle(layer);
      }
      for (const cell of layer) {
        if (cell.group?.drawing) continue;
        if (movesTops(cell, freeOperands)) sortPorts(cell.tops, upperMean);
        if (cell.group !== null) {
          setBorder(cell.group.parts[0]?.layers[0], cell.tops);
          sweepDown(cell.group, freeOperands);
          readBorder(cell.group.parts[0]?.layers.at(-1), "south", cell.bottoms);
        }
      }
    }
  }
}

function sweepUp(group: Group): void {
  for (const part of group.parts) {
    for (let l = part.layers.length - 1; l >= 0; l--) {
      const layer = part.layers[l] as Cell[];
      if (l < part.layers.length - 1) {
        rankTops(part.layers[l + 1] as Cell[]);
        wantLower(layer);
        settle(layer);
      }
      for (const cell of layer) {
        if (cell.group?.drawing) continue;
        sortPorts(cell.bottoms, lowerMean);
        if (cell.group !== null) {
          setBorder(cell.group.parts[0]?.layers.at(-1), cell.bottoms);
          sweepUp(cell.group);
          readBorder(cell.group.parts[0]?.layers[0], "north", cell.tops);
        }
      }
    }
  }
}

/** Ports of a group's cell → order of the border cells inside. */
function setBorder(layer: Cell[] | undefined, ports: Port[]): void {
  if (layer === undefined || ports.length === 0) return;
  ports.forEach((port, i) => {
    layer[i] = port.inner as Cell;
  });
  number(layer);
}

/** Order of the border cells → ports of the group's cell. */
function readBorder(layer: Cell[] | undefined, kind: "north" | "south", ports: Port[]): void {
  if (layer?.[0]?.kind !== kind) return;
  layer.forEach((cell, i) => {
    ports[i] = cell.outer as Port;
  });
}

function syncBorders(group: Group): void {
  if (group.cell === null) return;
  readBorder(group.parts[0]?.layers[0], "north", group.cell.tops);
  readBorder(group.parts[0]?.layers.at(-1), "south", group.cell.bottoms);
}

function countCrossings(groups: Group[]): number {
  let total = 0;
  for (const group of groups) for (const part of group.parts) total += crossingsIn(part);
  return total;
}

/** Whether the lower ends come in the order of the upper ones. */
function inOrder(upper: Cell[]): boolean {
  let most = 0;
  for (const cell of upper) {
    for (const { links } of cell.bottoms) {
      let highest = most;
      for (const { lower } of links) {
        if (lower.rank < most) return false;
        if (lower.rank > highest) highest = lower.rank;
      }
      most = highest;
    }
  }
  return true;
}

let tree = new Float64Array(256);

/** Weighted inversions, counted with a binary indexed tree over the lower ports. */
function crossingsBetween(upper: Cell[], lower: Cell[]): number {
  let size = 1;
  for (const cell of lower) {
    for (const port of cell.tops) port.rank = size++;
  }
  if (inOrder(upper)) return 0;
  if (tree.length <= size) tree = new Float64Array(size * 2);
  else tree.fill(0, 0, size + 1);
  let total = 0;
  let sum = 0;
  for (const cell of upper) {
    for (const { links } of cell.bottoms) {
      for (const { lower: port, weight } of links) {
        let before = 0;
        for (let i = port.rank; i > 0; i -= i & -i) before += tree[i] as number;
        total += (sum - before) * weight;
      }
      for (const { lower: port, weight } of links) {
        sum += weight;
        for (let i = port.rank; i <= size; i += i & -i) tree[i] = (tree[i] as number) + weight;
      }
    }
  }
  return total;
}

type Saved = Map<Part, SavedPart>;

interface SavedPart {
  layers: Cell[][];
  ports: { cell: Cell; tops: Port[]; bottoms: Port[] }[];
}

function save(groups: Group[]): Saved {
  const saved: Saved = new Map();
  for (const group of groups) for (const part of group.parts) saved.set(part, savePart(part));
  return saved;
}

function restore(groups: Group[], saved: Saved): void {
  for (const group of groups) for (const part of group.parts) restorePart(part, saved.get(part) as SavedPart);
}

function savePart(part: Part): SavedPart {
  const ports: SavedPart["ports"] = [];
  for (const layer of part.layers) {
    for (const cell of layer) {
      if (cell.tops.length > 1 || cell.bottoms.length > 1) {
        ports.push({ cell, tops: cell.tops.slice(), bottoms: cell.bottoms.slice() });
      }
    }
  }
  return { layers: part.layers.map((layer) => layer.slice()), ports };
}

function restorePart(part: Part, saved: SavedPart): void {
  part.layers = saved.layers.map((layer) => layer.slice());
  for (const { cell, tops, bottoms } of saved.ports) {
    cell.tops = tops.slice();
    cell.bottoms = bottoms.slice();
  }
}

/**
 * Searches one part again from other starts. Its groups stay as they are; in every other try, the order at its border
 * may change too, if that is better for what is around it and for itself together.
 */
function refine(group: Group, part: Part, freeOperands: boolean): boolean {
  if (crossingsIn(part) === 0 || part.layers.length < 2) return false;
  const cell = part === group.parts[0] ? group.cell : null;
  const around = cell === null ? [] : (cell.part?.layers.slice(Math.max(0, cell.layer - 1), cell.layer + 2) ?? []);
  const countAround = (): number => {
    let total = 0;
    for (let l = 0; l + 1 < around.length; l++) total += crossingsBetween(around[l] as Cell[], around[l + 1] as Cell[]);
    return total;
  };
  let outside = countAround();
  const before = crossingsIn(part) + outside;
  let best = before;
  let saved = savePart(part);
  let size = 0;
  for (const layer of part.layers) size += layer.length;
  const tries = Math.max(LEAST_TRIES, Math.min(MOST_TRIES, Math.floor(CELLS_TRIED / size)));
  let seed = size;
  for (let i = 0; i < tries && best > outside; i++) {
    const free = around.length > 0 && i % 4 > 1;
    for (const layer of part.layers) {
      if (layer[0]?.outer !== null) continue;
      for (const cell of layer) {
        seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
        cell.wanted = i === 0 ? Number(cell.kind !== "dummy") : i === 1 ? -cell.pos : seed;
      }
      settle(layer);
    }
    for (let sweep = 0; sweep < LOCAL_SWEEPS && best > outside; sweep++) {
      sweepWithin(part, sweep % 2 === i % 2, freeOperands, free);
      if (free) syncBorders(group);
      const crossings = crossingsIn(part) + (free ? countAround() : outside);
      if (crossings < best) {
        best = crossings;
        saved = savePart(part);
      }
    }
    if (free) {
      restorePart(part, saved);
      syncBorders(group);
      outside = countAround();
    }
  }
  restorePart(part, saved);
  syncBorders(group);
  for (const layer of part.layers) {
    number(layer);
    rankTops(layer);
    rankBottoms(layer);
  }
  for (const layer of around) {
    rankTops(layer);
    rankBottoms(layer);
  }
  return best < before;
}

function sweepWithin(part: Part, down: boolean, freeOperands: boolean, freeBorders: boolean): void {
  const count = part.layers.length;
  for (let k = 1; k < count; k++) {
    const l = down ? k : count - 1 - k;
    const layer = part.layers[l] as Cell[];
    if (down) rankBottoms(part.layers[l - 1] as Cell[]);
    else rankTops(part.layers[l + 1] as Cell[]);
    if (freeBorders || layer[0]?.outer === null) {
      if (down) wantUpper(layer);
      else wantLower(layer);
      settle(layer);
    }
    for (const cell of layer) {
      if (cell.group !== null) continue;
      if (!down) sortPorts(cell.bottoms, lowerMean);
      else if (movesTops(cell, freeOperands)) sortPorts(cell.tops, upperMean);
    }
  }
}

function crossingsIn(part: Part): number {
  let total = 0;
  for (let l = 0; l + 1 < part.layers.length; l++) {
    total += crossingsBetween(part.layers[l] as Cell[], part.layers[l + 1] as Cell[]);
  }
  return total;
}

/** Swaps neighbours of a layer as long as that saves crossings. */
function exchange(part: Part, freeOperands: boolean): boolean {
  let any = false;
  for (const layer of part.layers) {
    for (const cell of layer) {
      if (cell.group !== null) continue;
      if (movesTops(cell, freeOperands)) any = exchangePorts(cell.tops, (link) => link.upper.rank) || any;
      any = exchangePorts(cell.bottoms, (link) => link.lower.rank) || any;
    }
    let again = true;
    for (let round = 0; again && round < 6; round++) {
      again = false;
      for (let i = 0; i + 1 < layer.length; i++) {
        const a = layer[i] as Cell;
        const b = layer[i + 1] as Cell;
        if (isKnown(a) && isKnown(b)) continue;
        const now = pairCrossings(a, b);
        if (now === 0 || pairCrossings(b, a) >= now) continue;
        layer[i] = b;
        layer[i + 1] = a;
        reseat(b, a);
        again = true;
        any = true;
      }
      if (again) {
        number(layer);
        rankTops(layer);
        rankBottoms(layer);
      }
    }
  }
  return any;
}

/** Swaps neighbouring ports of a box as long as that saves crossings. */
function exchangePorts(ports: Port[], rank: (link: Link) => number): boolean {
  let any = false;
  for (let again = ports.length > 1; again; ) {
    again = false;
    for (let i = 0; i + 1 < ports.length; i++) {
      const a = ports[i] as Port;
      const b = ports[i + 1] as Port;
      const left = collect([a], rank);
      const right = collect([b], rank);
      if (inversions(left, right) <= inversions(right, left)) continue;
      ports[i] = b;
      ports[i + 1] = a;
      [a.rank, b.rank] = [b.rank, a.rank];
      again = true;
      any = true;
    }
  }
  return any;
}

/** `first` now stands before `second`. */
function reseat(first: Cell, second: Cell): void {
  [first.pos, second.pos] = [second.pos, first.pos];
  for (const side of ["tops", "bottoms"] as const) {
    const ports = [...first[side], ...second[side]];
    let rank = Number.POSITIVE_INFINITY;
    for (const port of ports) rank = Math.min(rank, port.rank);
    for (const port of ports) port.rank = rank++;
  }
  if (first.outer !== null && second.outer !== null) {
    [first.outer.rank, second.outer.rank] = [second.outer.rank, first.outer.rank];
  }
}

function pairCrossings(left: Cell, right: Cell): number {
  return inversions(upperRanks(left), upperRanks(right)) + inversions(lowerRanks(left), lowerRanks(right));
}

type Ranked = { rank: number; weight: number };

function byRank(p: Ranked, q: Ranked): number {
  return p.rank - q.rank;
}

function collect(ports: Port[], rank: (link: Link) => number): Ranked[] {
  const found: Ranked[] = [];
  for (const { links } of ports) for (const link of links) found.push({ rank: rank(link), weight: link.weight });
  return found.sort(byRank);
}

function upperRanks(cell: Cell): Ranked[] {
  return collect(cell.kind === "north" ? [cell.outer as Port] : cell.tops, (link) => link.upper.rank);
}

function lowerRanks(cell: Cell): Ranked[] {
  return collect(cell.kind === "south" ? [cell.outer as Port] : cell.bottoms, (link) => link.lower.rank);
}

/** Weight of the pairs where the left one's end is right of the right one's end. */
function inversions(left: Ranked[], right: Ranked[]): number {
  let total = 0;
  let before = 0;
  let j = 0;
  for (const { rank, weight } of left) {
    for (; j < right.length && (right[j] as Ranked).rank < rank; j++) before += (right[j] as Ranked).weight;
    total += before * weight;
  }
  return total;
}
