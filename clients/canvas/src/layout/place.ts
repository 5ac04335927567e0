/** Ordered layers → coordinates: straight lines first, then every box between its neighbours. */

import { type Cell, type Group, isLine, type Link, type Part, type Port, type Segment } from "./model.js";
import {
  BORDER_GAP,
  LABEL_GAP,
  LINE_GAP,
  LINE_NODE_GAP,
  LOOP_WIDTH,
  NODE_GAP,
  PADDING,
  PART_GAP,
  PORT_GAP,
  PORT_INSET,
  ROW_GAP,
  ROW_GAP_MOST,
  ROW_GAP_SLOPE,
  STACK_GAP,
  STACK_GUTTER,
} from "./spacing.js";

/** How much wider than its widest row a drawing may be for the sake of straight lines, and how often it is tried. */
const WIDTH_MOST = 1.25;
const CUTS_MOST = 60;
const RELAXATIONS = 12;
/** Passes in which blocks that are too close yield to each other. */
const YIELDS = 6;
/** Rows up to this height have their boxes on one axis; in higher ones boxes stand near what they are connected to. */
const LOW_ROW = 120;
/** Width of a shelf of unconnected parts, in heights. */
const SHELF_ASPECT = 1.6;

/** Sizes and places everything in a group, relative to it. Its child groups must have been placed. */
export function placeGroup(group: Group): void {
  for (const part of group.parts) placePart(part);
  const singles = group.single.map((cell) => {
    measure(cell);
    return { cell, width: cell.left + cell.right, height: cell.height, x: 0, y: 0 };
  });
  // Lines run from the first part to the border, so nothing stands above or below it.
  const [main, ...others] = group.parts as [Part, ...Part[]];
  const grid = { ...pack(singles, NODE_GAP), x: 0, y: 0 };
  const rest = { ...pack(singles.length > 0 ? [...others, grid] : others, PART_GAP), x: 0, y: 0 };
  if (main.layers.length > 0 && rest.width > 0) rest.x = main.width + PART_GAP;
  for (const part of others) part.x += rest.x;
  for (const { cell, x, y } of singles) {
    cell.x = rest.x + grid.x + x + cell.left;
    cell.y = grid.y + y;
  }
  const shelf = { width: Math.max(main.width, rest.x + rest.width), height: Math.max(main.height, rest.height) };
  const side = group.cell === null ? 0 : PADDING;
  const top = group.cell === null ? 0 : group.header + PADDING;
  const { width, shift } = frame(group, main.x, shelf.width, side);
  for (const { cell } of singles) {
    cell.x += shift;
    cell.y += top;
  }
  for (const part of group.parts) {
    part.x += shift;
    part.y += top;
    for (const layer of part.layers) {
      for (const cell of layer) {
        cell.x += part.x;
        cell.y += part.y;
      }
    }
  }
  for (const segment of group.segments) trace(segment);
  group.width = width;
  group.height = Math.max(shelf.height + top + (group.cell === null ? 0 : PADDING), group.minHeight);
}

function trace(segment: Segment): void {
  const { from, links, points } = segment;
  const part = from.cell.part as Part;
  for (const { upper, lower } of links) {
    points.push(upper.cell.x + upper.dx, part.y + (part.layerBottom[upper.cell.layer] as number));
    points.push(lower.cell.x + lower.dx, part.y + (part.layerTop[lower.cell.layer] as number));
  }
  const ports = from.cell.bottoms;
  if (from.label !== null) segment.labelSide = ports.length === 2 && ports[0] === from ? -1 : 1;
}

/** Width of the box, and where its contents begin: in the middle, unless lines would then pass over its title. */
function frame(group: Group, from: number, contents: number, side: number): { width: number; shift: number } {
  let width = Math.max(contents + 2 * side, group.minWidth);
  let shift = (width - contents) / 2;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { x } of group.norths) {
    first = Math.min(first, from + x);
    last = Math.max(last, from + x);
  }
  if (group.norths.length > 0) {
    const { left, right } = group.titles;
    shift = Math.max(Math.min(shift, width - right - last), left - first, side);
    width = Math.max(width, shift + contents + side, shift + last + right);
  }
  return { width, shift };
}

interface Packed {
  width: number;
  height: number;
  x: number;
  y: number;
}

/** Rows of boxes in their order. */
function pack(boxes: Packed[], gap: number): { width: number; height: number } {
  let area = 0;
  let widest = 0;
  for (const box of boxes) {
    area += (box.width + gap) * (box.height + gap);
    widest = Math.max(widest, box.width);
  }
  const limit = Math.max(widest, Math.sqrt(area * SHELF_ASPECT));
  let x = 0;
  let y = 0;
  let height = 0;
  let width = 0;
  for (const box of boxes) {
    if (x > 0 && x + box.width > limit) {
      x = 0;
      y += height + gap;
      height = 0;
    }
    box.x = x;
    box.y = y;
    width = Math.max(width, x + box.width);
    height = Math.max(height, box.height);
    x += box.width + gap;
  }
  return { width, height: y + height };
}

function placePart(part: Part): void {
  align(part);
  for (const layer of part.layers) for (const cell of layer) measure(cell);
  placeAcross(part);
  placeDown(part);
}

/** Chooses the links that become vertical: at most one up and one down a cell, none crossing another. */
function align(part: Part): void {
  const candidates: { link: Link; score: number; skew: number; i: number }[] = [];
  for (const layer of part.layers) {
    for (const cell of layer) {
      cell.up = null;
      cell.down = null;
      for (const port of cell.bottoms) {
        for (const link of port.links) {
          candidates.push({ link, score: score(link), skew: skew(link), i: candidates.length });
        }
      }
    }
  }
  candidates.sort((p, q) => q.score - p.score || p.skew - q.skew || p.i - q.i);
  // For each layer, positions in the next one that its cells are aligned with.
  const taken = part.layers.map((layer) => new Int32Array(layer.length).fill(-1));
  for (const { link } of candidates) {
    const upper = link.upper.cell;
    const lower = link.lower.cell;
    if (upper.down !== null || lower.up !== null) continue;
    const down = taken[upper.layer] as Int32Array;
    let free = true;
    for (let i = upper.pos - 1; i >= 0; i--) {
      const other = down[i] as number;
      if (other >= 0) {
        free = other < lower.pos;
        break;
      }
    }
    for (let i = upper.pos + 1; free && i < down.length; i++) {
      const other = down[i] as number;
      if (other >= 0) {
        free = other > lower.pos;
        break;
      }
    }
    if (!free) continue;
    down[upper.pos] = lower.pos;
    upper.down = link;
    lower.up = link;
  }
}

/** Streams, long lines, chains, and the ends of long lines; what comes from mere inputs yields to the rest. */
function score({ upper, lower, weak, stream }: Link): number {
  if (stream) return 40;
  const lines = Number(upper.cell.kind === "dummy") + Number(lower.cell.kind === "dummy");
  const only = Number(degree(upper.cell.bottoms) === 1) + Number(degree(lower.cell.tops) === 1);
  return (lines === 2 ? 30 : lines === 1 ? 10 : 12) + only * 3 - (weak ? 9 : 0);
}

/** How far a link is from the middle of the links at its ends. */
function skew({ upper, lower }: Link): number {
  const a = upper.links;
  const below = a.length === 1 ? upper.cell.bottoms : null;
  const above = lower.cell.tops;
  const off = (i: number, n: number): number => Math.abs(i - (n - 1) / 2);
  let sum = off(above.indexOf(lower), above.length);
  if (below !== null) sum += off(below.indexOf(upper), below.length);
  else {
    const targets = a.map((link) => link.lower.cell.pos).sort((p, q) => p - q);
    sum += off(targets.indexOf(lower.cell.pos), targets.length);
  }
  return sum;
}

function degree(ports: Port[]): number {
  let count = 0;
  for (const port of ports) count += port.links.length;
  return count;
}

/** Places of ports on the cell, and what the cell takes. */
function measure(cell: Cell): void {
  if (isLine(cell)) return;
  const loop = cell.loops.length > 0 ? LOOP_WIDTH : 0;
  if (cell.kind === "stack") {
    measureStack(cell);
    return;
  }
  if (cell.group !== null) {
    cell.left = cell.group.width / 2;
    cell.right = cell.left + loop;
    cell.height = cell.group.height;
    for (const port of [...cell.tops, ...cell.bottoms]) {
      const inner = port.inner as Cell;
      port.dx = inner.x - cell.left;
    }
    return;
  }
  const node = cell.nodes[0];
  if (node === undefined) return;
  const half = node.width / 2;
  cell.left = half;
  cell.right = half + loop;
  cell.height = node.height;
  const ports = cell.bottoms;
  const labels = ports.map((port) => port.label);
  const room = Math.max(...labels.map((label) => (label === null ? 0 : label.width + 2 * LABEL_GAP)), 0);
  spread(cell.tops, cell.up?.lower ?? null, half, PORT_GAP);
  spread(ports, cell.down?.upper ?? null, half, ports.length > 2 ? Math.max(PORT_GAP, room) : PORT_GAP);
  ports.forEach((port, i) => {
    if (port.label === null) return;
    const next = ports[i + 1];
    if (ports.length === 2 && i === 0) cell.left = Math.max(cell.left, port.label.width + LABEL_GAP - port.dx);
    else if (next !== undefined && next.dx - port.dx < port.label.width + 2 * LABEL_GAP) port.label = null;
    else cell.right = Math.max(cell.right, port.dx + LABEL_GAP + port.label.width);
    if (port.label !== null) cell.height = Math.max(cell.height, node.height + port.label.height + LABEL_GAP);
  });
}

/** The aligned port in the middle, so that a line through the box is straight; the others on either side in order. */
function spread(ports: Port[], middle: Port | null, half: number, gap: number): void {
  const count = ports.length;
  const at = middle === null ? (count - 1) / 2 : ports.indexOf(middle);
  const most = Math.max(at, count - 1 - at, 1);
  const step = Math.min(gap, Math.max(0, half - PORT_INSET) / most);
  ports.forEach((port, i) => {
    port.dx = (i - at) * step;
  });
}

function measureStack(cell: Cell): void {
  let width = 0;
  let height = 0;
  for (const node of cell.nodes) {
    width = Math.max(width, node.width);
    height += node.height + STACK_GAP;
  }
  const loop = cell.loops.length > 0 ? LOOP_WIDTH : 0;
  cell.left = width / 2;
  cell.right = width / 2 + STACK_GUTTER + loop;
  cell.height = height;
  for (const port of [...cell.tops, ...cell.bottoms]) {
    port.dx = width / 2 + loop + STACK_GUTTER / 2;
    port.label = null;
  }
}

function gapBetween(left: Cell, right: Cell): number {
  const lines = Number(isLine(left)) + Number(isLine(right));
  return lines === 2 ? LINE_GAP : lines === 1 ? LINE_NODE_GAP : NODE_GAP;
}

interface Block {
  cells: Cell[];
  x: number;
  want: number;
  mass: number;
  /** Where it stood in the previous layout; not a number where it is new. */
  before: number;
  /** Blocks right of this one, with the least distance. */
  rights: Block[];
  rightGaps: number[];
  lefts: Block[];
  leftGaps: number[];
  /** The rows that they are for. */
  leftLayers: number[];
}

function placeAcross(part: Part): void {
  for (const layer of part.layers) for (const cell of layer) if (cell.bent) bend(cell);
  let blocks = makeBlocks(part);
  let order = leftToRight(blocks.all);
  pushRight(order);
  const limit = widestRow(part) * WIDTH_MOST;
  for (let i = 0; i < CUTS_MOST && extent(order) > limit && cut(order); i++) {
    blocks = makeBlocks(part);
    order = leftToRight(blocks.all);
    pushRight(order);
  }
  const edge = extent(order);
  for (const block of order) block.want = block.x;
  pushLeft(order, edge);
  for (const block of order) block.x = (block.x + block.want) / 2;
  relax(order, blocks.of, part.fresh ? null : recallPlaces(order));

  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const block of order) {
    for (const cell of block.cells) {
      cell.x += block.x;
      least = Math.min(least, cell.x - cell.left);
      most = Math.max(most, cell.x + cell.right);
    }
  }
  for (const layer of part.layers) for (const cell of layer) cell.x -= least;
  part.width = order.length === 0 ? 0 : most - least;
}

function makeBlocks(part: Part): { all: Block[]; of: Map<Cell, Block> } {
  const of = new Map<Cell, Block>();
  const all: Block[] = [];
  for (const layer of part.layers) {
    for (const cell of layer) {
      const up = cell.up;
      const block: Block =
        up === null
          ? {
              cells: [],
              x: 0,
              want: 0,
              mass: 0,
              before: Number.NaN,
              rights: [],
              rightGaps: [],
              lefts: [],
              leftGaps: [],
              leftLayers: [],
            }
          : (of.get(up.upper.cell) as Block);
      // `x` of a cell is relative to its block until the end.
      if (up === null) {
        all.push(block);
        cell.x = 0;
      } else cell.x = up.upper.cell.x + up.upper.dx - up.lower.dx;
      block.cells.push(cell);
      of.set(cell, block);
    }
  }
  part.layers.forEach((layer, l) => {
    for (let i = 0; i + 1 < layer.length; i++) {
      const a = layer[i] as Cell;
      const b = layer[i + 1] as Cell;
      const left = of.get(a) as Block;
      const right = of.get(b) as Block;
      const gap = a.x + a.right + gapBetween(a, b) + b.left - b.x;
      left.rights.push(right);
      left.rightGaps.push(gap);
      right.lefts.push(left);
      right.leftGaps.push(gap);
      right.leftLayers.push(l);
    }
  });
  return { all, of };
}

function widestRow(part: Part): number {
  let widest = 0;
  for (const layer of part.layers) {
    let width = 0;
    layer.forEach((cell, i) => {
      width += cell.left + cell.right + (i > 0 ? gapBetween(layer[i - 1] as Cell, cell) : 0);
    });
    widest = Math.max(widest, width);
  }
  return widest;
}

/**
 * Straight lines that hold boxes of different rows apart make a drawing wider than any of its rows. Bends the cheapest
 * lines of the longest such chain; returns whether there were any.
 */
function cut(order: Block[]): boolean {
  let block = order[0] as Block;
  for (const other of order) if (other.x > block.x) block = other;
  const found: { cell: Cell; cost: number }[] = [];
  let exit = -1;
  while (block.x > 0) {
    let tight = 0;
    for (let i = 1; i < block.lefts.length; i++) {
      const at = (k: number): number => (block.lefts[k] as Block).x + (block.leftGaps[k] as number);
      if (at(i) > at(tight)) tight = i;
    }
    const enter = block.leftLayers[tight] as number;
    if (exit >= 0 && enter !== exit) {
      const top = Math.min(enter, exit);
      const bottom = Math.max(enter, exit);
      let best: { cell: Cell; cost: number } | null = null;
      for (const cell of block.cells) {
        if (cell.layer <= top || cell.layer > bottom || cell.up === null || cell.up.stream) continue;
        const ends = cell.up.upper.cell;
        const cost =
          (cell.up.weak ? 0 : 4) +
          (ends.kind === "dummy" ? 0 : 1) +
          (cell.kind === "dummy" ? 0 : 1) +
          Math.abs(cell.layer - (top + bottom) / 2) / 1000;
        if (best === null || cost < best.cost) best = { cell, cost };
      }
      if (best !== null) found.push(best);
    }
    exit = enter;
    block = block.lefts[tight] as Block;
  }
  found.sort((p, q) => p.cost - q.cost);
  const count = Math.ceil(found.length / 2);
  for (const { cell } of found.slice(0, count)) bend(cell);
  return count > 0;
}

function bend(cell: Cell): void {
  cell.bent = cell.up !== null;
  if (cell.up === null) return;
  cell.up.upper.cell.down = null;
  cell.up = null;
}

/**
 * Begins with the places of the previous layout. Returns how far from them a block may want to be: as far as boxes have
 * grown or shrunk.
 */
function recallPlaces(blocks: Block[]): number {
  let reach = 0;
  let shift = 0;
  let count = 0;
  for (const block of blocks) {
    const places: number[] = [];
    for (const cell of block.cells) {
      if (Number.isNaN(cell.hint)) continue;
      places.push(cell.hint - cell.x);
      if (cell.widthBefore > 0) reach += Math.abs(cell.left * 2 - cell.widthBefore);
    }
    if (places.length === 0) continue;
    block.before = median(Float64Array.from(places));
    shift += block.x - block.before;
    count++;
  }
  shift /= Math.max(1, count);
  for (const block of blocks) {
    if (Number.isNaN(block.before)) continue;
    block.before += shift;
    block.x = block.before;
  }
  return reach;
}

function leftToRight(blocks: Block[]): Block[] {
  const waiting = new Map<Block, number>();
  const order: Block[] = [];
  for (const block of blocks) {
    waiting.set(block, block.lefts.length);
    if (block.lefts.length === 0) order.push(block);
  }
  for (let i = 0; i < order.length; i++) {
    for (const right of (order[i] as Block).rights) {
      const left = (waiting.get(right) as number) - 1;
      waiting.set(right, left);
      if (left === 0) order.push(right);
    }
  }
  return order;
}

function pushRight(order: Block[]): void {
  for (const block of order) {
    let x = 0;
    for (let i = 0; i < block.lefts.length; i++) {
      x = Math.max(x, (block.lefts[i] as Block).x + (block.leftGaps[i] as number));
    }
    block.x = x;
  }
}

function pushLeft(order: Block[], edge: number): void {
  for (let k = order.length - 1; k >= 0; k--) {
    const block = order[k] as Block;
    let x = edge;
    for (let i = 0; i < block.rights.length; i++) {
      x = Math.min(x, (block.rights[i] as Block).x - (block.rightGaps[i] as number));
    }
    block.x = x;
  }
}

function extent(blocks: Block[]): number {
  let most = 0;
  for (const block of blocks) most = Math.max(most, block.x);
  return most;
}

/**
 * Moves blocks to the median of what they are linked with. Where two then stand too close, the lighter one yields more;
 * what is left of that is resolved by the middle of two placements that keep all distances, which keeps them too.
 */
function relax(order: Block[], blockOf: Map<Cell, Block>, reach: number | null): void {
  const pulls = order.map((block) => pullsOf(block, blockOf));
  for (const block of order) block.mass = massOf(block);
  const low = new Float64Array(order.length);
  for (let round = 0; round < RELAXATIONS; round++) {
    for (let k = 0; k < order.length; k++) {
      const block = order[k] as Block;
      block.want = wanted(pulls[k] as Pull[], block.x);
      if (reach !== null && !Number.isNaN(block.before)) {
        block.want = Math.min(Math.max(block.want, block.before - reach), block.before + reach);
      }
    }
    let moved = 0;
    for (const block of order) {
      moved = Math.max(moved, Math.abs(block.x - block.want));
      block.x = (block.x + block.want * 3) / 4;
    }
    if (moved < 0.5 && (reach === null || round > 0)) break;
    for (let pass = 0; pass < YIELDS; pass++) {
      let violated = false;
      for (let k = 0; k < order.length; k++) {
        const block = order[pass % 2 === 0 ? k : order.length - 1 - k] as Block;
        for (let i = 0; i < block.rights.length; i++) {
          const right = block.rights[i] as Block;
          const missing = block.x + (block.rightGaps[i] as number) - right.x;
          if (missing <= 0.01) continue;
          violated = true;
          const share = right.mass / (block.mass + right.mass);
          block.x -= missing * share;
          right.x += missing * (1 - share);
        }
      }
      if (!violated) break;
    }
    for (const block of order) block.want = block.x;
    for (const block of order) {
      let x = block.want;
      for (let i = 0; i < block.lefts.length; i++) {
        x = Math.max(x, (block.lefts[i] as Block).x + (block.leftGaps[i] as number));
      }
      block.x = x;
    }
    for (let k = 0; k < order.length; k++) low[k] = (order[k] as Block).x;
    for (let k = order.length - 1; k >= 0; k--) {
      const block = order[k] as Block;
      let x = block.want;
      for (let i = 0; i < block.rights.length; i++) {
        x = Math.min(x, (block.rights[i] as Block).x - (block.rightGaps[i] as number));
      }
      block.x = x;
    }
    for (let k = 0; k < order.length; k++) (order[k] as Block).x = ((order[k] as Block).x + (low[k] as number)) / 2;
  }
}

function massOf(block: Block): number {
  let mass = 0;
  for (const cell of block.cells) {
    const weak = [...cell.tops, ...cell.bottoms].every((port) => port.weak);
    mass += (cell.kind === "dummy" ? 1 : 3) * (weak ? 0.1 : 1);
  }
  return mass;
}

interface Pull {
  block: Block;
  /** Where the block would stand if that one stood at 0. */
  offset: number;
}

function pullsOf(block: Block, blockOf: Map<Cell, Block>): Pull[] {
  const pulls: Pull[] = [];
  for (const cell of block.cells) {
    for (const port of cell.tops) {
      for (const link of port.links) {
        const other = blockOf.get(link.upper.cell) as Block;
        if (other !== block) pulls.push({ block: other, offset: link.upper.cell.x + link.upper.dx - cell.x - port.dx });
      }
    }
    for (const port of cell.bottoms) {
      for (const link of port.links) {
        const other = blockOf.get(link.lower.cell) as Block;
        if (other !== block) pulls.push({ block: other, offset: link.lower.cell.x + link.lower.dx - cell.x - port.dx });
      }
    }
  }
  return pulls;
}

function wanted(pulls: Pull[], x: number): number {
  const count = pulls.length;
  if (count === 0) return x;
  if (count === 1) return (pulls[0] as Pull).block.x + (pulls[0] as Pull).offset;
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = (pulls[i] as Pull).block.x + (pulls[i] as Pull).offset;
  return median(values);
}

function median(values: Float64Array): number {
  values.sort();
  const count = values.length;
  const middle = count >> 1;
  return count % 2 === 1
    ? (values[middle] as number)
    : ((values[middle - 1] as number) + (values[middle] as number)) / 2;
}

function placeDown(part: Part): void {
  part.layerTop = [];
  part.layerBottom = [];
  let y = 0;
  part.layers.forEach((layer, l) => {
    let height = 0;
    for (const cell of layer) height = Math.max(height, cell.height);
    if (l > 0) {
      let widest = 0;
      for (const cell of part.layers[l - 1] as Cell[]) {
        for (const port of cell.bottoms) {
          for (const link of port.links) {
            widest = Math.max(widest, Math.abs(cell.x + port.dx - link.lower.cell.x - link.lower.dx));
          }
        }
      }
      const above = part.layers[l - 1] as Cell[];
      const border = above[0]?.kind === "north" || layer[0]?.kind === "south";
      y += Math.min(ROW_GAP_MOST, (border ? BORDER_GAP : ROW_GAP) + widest * ROW_GAP_SLOPE);
    }
    for (const cell of layer) {
      const spare = height - cell.height;
      const isSource = cell.tops.length === 0;
      const down = height <= LOW_ROW ? spare / 2 : isSource ? spare : 0;
      cell.y = y + down;
    }
    part.layerTop.push(y);
    y += height;
    part.layerBottom.push(y);
  });
  part.height = y;
}
