/** Boxes and edges as given → groups with their cells, and each edge cut where it passes the border of a group. */

import type { Memory } from "./memory.js";
import {
  type Cell,
  type Group,
  nameOf,
  newCell,
  newPart,
  newPort,
  type Part,
  type Port,
  type Route,
  type Segment,
} from "./model.js";
import { STACK_GAP, STACK_GUTTER } from "./spacing.js";
import type { LayoutEdge, LayoutNode } from "./types.js";

/** So many boxes with nothing above (or below) them and the same neighbour are stacked. */
const STACK_FROM = 9;
/** So many that are used in several places, or are to be first or last, are stacked whatever their neighbours are. */
const STACK_SPREAD_FROM = 13;
/** Width of a field of stacks, in heights. */
const STACK_ASPECT = 2.5;

export interface Hierarchy {
  root: Group;
  /** Parents before children. */
  groups: Group[];
  routes: Route[];
  /** Edges from a box to itself. */
  loops: LayoutEdge[];
  cellOf: Map<string, Cell>;
  crowded: boolean;
}

interface Item {
  node: LayoutNode | null;
  parent: Item | null;
  depth: number;
  children: Item[];
  isGroup: boolean;
  group: Group | null;
  cell: Cell | null;
}

interface Oriented {
  edge: LayoutEdge;
  upper: Item;
  lower: Item;
  /** The lowest item that contains both ends. */
  common: Item;
  /** The children of `common` that the ends stand in; null where `common` is itself an end. */
  above: Item | null;
  below: Item | null;
  reversed: boolean;
}

export interface Stacking {
  /** Where a box stands from left to right. */
  columns: (id: string) => number;
  /** Of the previous layout. */
  before?: Memory["columns"];
}

/**
 * With `stacking`, boxes with different neighbours that would make a row too wide are stacked with those beside them;
 * without it they are not stacked, but `crowded` is set.
 */
export function buildHierarchy(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  stacking?: Stacking,
): Hierarchy {
  const { root, items } = readTree(nodes);
  const loops: LayoutEdge[] = [];
  const oriented: Oriented[] = [];
  for (const edge of edges) {
    const source = items.get(edge.source);
    const target = items.get(edge.target);
    if (source === undefined || target === undefined) continue;
    if (source === target) loops.push(edge);
    else oriented.push(lift(edge, source, target));
  }
  orient(oriented);

  const order: Item[] = [];
  const pending: Item[] = [root];
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    order.push(item);
    for (let i = item.children.length - 1; i >= 0; i--) {
      const child = item.children[i] as Item;
      if (child.isGroup) pending.push(child);
    }
  }
  const { stacks, crowded } = findStacks(order, oriented, stacking);
  const cellOf = new Map<string, Cell>();
  for (const item of order) makeCells(item, stacks, cellOf);
  for (const loop of loops) cellOf.get(loop.source)?.loops.push(loop.id);
  const made: Made = {
    entered: new Set(oriented.map((one) => one.lower)),
    ports: new Map(),
    segments: new Map(),
    norths: new Map(),
    souths: new Map(),
  };
  const routes = oriented.map((one) => makeRoute(one, made));
  for (let i = order.length - 1; i >= 0; i--) nameBorders((order[i] as Item).group as Group);
  for (const item of order) split(item.group as Group);
  return {
    root: root.group as Group,
    groups: order.map((item) => item.group as Group),
    routes,
    loops,
    cellOf,
    crowded,
  };
}

function readTree(nodes: readonly LayoutNode[]): { root: Item; items: Map<string, Item> } {
  const root: Item = { node: null, parent: null, depth: 0, children: [], isGroup: true, group: null, cell: null };
  const items = new Map<string, Item>();
  for (const node of nodes) {
    if (items.has(node.id)) throw new Error(`Two nodes of a layout have the id ${JSON.stringify(node.id)}.`);
    items.set(node.id, {
      node,
      parent: null,
      depth: -1,
      children: [],
      isGroup: node.expanded === true,
      group: null,
      cell: null,
    });
  }
  for (const item of items.values()) {
    const parent = items.get((item.node as LayoutNode).parent) ?? root;
    item.parent = parent === item ? root : parent;
  }
  for (const item of items.values()) {
    // A chain of parents that bites its tail is cut where it is first met.
    const seen = new Set<Item>();
    for (let at = item; at.parent !== null && at.depth < 0; at = at.parent) {
      seen.add(at);
      if (seen.has(at.parent)) at.parent = root;
    }
    for (const at of [...seen].reverse()) at.depth = (at.parent as Item).depth + 1;
  }
  for (const item of items.values()) {
    const parent = item.parent as Item;
    parent.children.push(item);
    parent.isGroup = true;
  }
  return { root, items };
}

function lift(edge: LayoutEdge, source: Item, target: Item): Oriented {
  let a = source;
  let b = target;
  let above: Item | null = null;
  let below: Item | null = null;
  while (a !== b) {
    if (a.depth >= b.depth) {
      above = a;
      a = a.parent as Item;
      if (a === b) break;
      if (a.depth >= b.depth) continue;
    }
    below = b;
    b = b.parent as Item;
  }
  if (a === source) above = null;
  if (a === target) below = null;
  return { edge, upper: source, lower: target, common: a, above, below, reversed: false };
}

/** Turns the edges around that close a cycle among the children of a group, so that all others point downwards. */
function orient(oriented: Oriented[]): void {
  const out = new Map<Item, Oriented[]>();
  const starts: Item[] = [];
  for (const one of oriented) {
    if (one.above === null || one.below === null) continue;
    const known = out.get(one.above);
    if (known === undefined) {
      out.set(one.above, [one]);
      starts.push(one.above);
    } else known.push(one);
  }
  // Where a cycle has a natural beginning, it is what nothing flows into, else what was given first.
  const entered = new Set<Item>();
  for (const one of oriented) if (one.below !== null) entered.add(one.below);
  starts.sort((p, q) => Number(entered.has(p)) - Number(entered.has(q)));
  const state = new Map<Item, 1 | 2>();
  const back = new Set<Oriented>();
  for (const start of starts) {
    if (state.has(start)) continue;
    state.set(start, 1);
    const path: { item: Item; next: number }[] = [{ item: start, next: 0 }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const one = out.get(top.item)?.[top.next++];
      if (one === undefined) {
        state.set(top.item, 2);
        path.pop();
        continue;
      }
      const next = one.below as Item;
      const known = state.get(next);
      if (known === 1) back.add(one);
      else if (known === undefined) {
        state.set(next, 1);
        path.push({ item: next, next: 0 });
      }
    }
  }
  for (const one of back) {
    [one.upper, one.lower] = [one.lower, one.upper];
    [one.above, one.below] = [one.below, one.above];
    one.reversed = true;
  }
}

/** Columns of boxes that would otherwise make a row much wider than the rest: item → its column. */
function findStacks(
  groups: Item[],
  oriented: Oriented[],
  stacking: Stacking | undefined,
): { stacks: Map<Item, Item[]>; crowded: boolean } {
  let crowded = false;
  const flowsIn = new Set<Item>();
  const flowsOut = new Set<Item>();
  const neighbours = new Map<Item, Set<string>>();
  const names = new Map<Item | null, string>([[null, "border"]]);
  const note = (item: Item, common: Item, other: Item | null): void => {
    // Beyond its own group, all that counts is that it leaves it.
    const at = item.parent === common ? other : null;
    let name = names.get(at);
    if (name === undefined) {
      name = String(names.size);
      names.set(at, name);
    }
    const known = neighbours.get(item);
    if (known === undefined) neighbours.set(item, new Set([name]));
    else known.add(name);
  };
  for (const one of oriented) {
    flowsOut.add(one.upper);
    flowsIn.add(one.lower);
    note(one.upper, one.common, one.below);
    note(one.lower, one.common, one.above);
  }
  const stacks = new Map<Item, Item[]>();
  for (const group of groups) {
    if (group.children.length < STACK_FROM) continue;
    const alike = new Map<string, Item[]>();
    const kept = new Map<string, { item: Item; row: number }[]>();
    const spread: Record<string, Item[]> = { first: [], last: [] };
    for (const item of group.children) {
      const node = item.node as LayoutNode;
      if (item.isGroup || node.expanded === false) continue;
      const source = !flowsIn.has(item) && node.rank !== "last";
      const sink = !flowsOut.has(item) && node.rank !== "first";
      if (source === sink && node.rank === undefined) continue;
      const side = source ? "first" : sink ? "last" : "";
      if (side === "") continue;
      const seat = stacking?.before?.get(node.id);
      if (seat !== undefined) {
        if (seat !== null) append(kept, `${side} ${seat.top}`, { item, row: seat.row });
        continue;
      }
      const key = `${side} ${node.rank ?? ""} ${[...(neighbours.get(item) ?? [])].sort().join(" ")}`;
      append(alike, key, item);
      if (node.rank !== undefined || (neighbours.get(item)?.size ?? 0) > 1) (spread[side] as Item[]).push(item);
    }
    for (const seats of kept.values()) {
      const column = seats.sort((p, q) => p.row - q.row).map(({ item }) => item);
      for (const item of column) stacks.set(item, column);
    }
    for (const set of alike.values()) if (set.length >= STACK_FROM) stack(set, stacks);
    for (const set of Object.values(spread)) {
      const left = set.filter((item) => !stacks.has(item));
      if (left.length < STACK_SPREAD_FROM) continue;
      crowded = true;
      if (stacking === undefined) continue;
      const at = new Map(left.map((item) => [item, stacking.columns((item.node as LayoutNode).id)]));
      stack(
        left.sort((p, q) => (at.get(p) as number) - (at.get(q) as number)),
        stacks,
      );
    }
  }
  return { stacks, crowded };
}

function append<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}

function stack(items: Item[], columns: Map<Item, Item[]>): void {
  let width = 0;
  let height = 0;
  for (const item of items) {
    const node = item.node as LayoutNode;
    width = Math.max(width, node.width + STACK_GUTTER);
    height = Math.max(height, node.height + STACK_GAP);
  }
  const count = Math.max(1, Math.ceil(Math.sqrt((items.length * height * STACK_ASPECT) / width)));
  const rows = Math.ceil(items.length / count);
  for (let start = 0; start < items.length; start += rows) {
    const column = items.slice(start, start + rows);
    for (const item of column) columns.set(item, column);
  }
}

function newGroup(id: string, cell: Cell | null, node: LayoutNode | null): Group {
  return {
    id,
    cell,
    header: node?.headerHeight ?? 0,
    titles: node?.titles ?? { left: 0, right: 0 },
    minWidth: node?.width ?? 0,
    minHeight: node === null ? 0 : Math.max(node.headerHeight ?? 0, node.height),
    parts: [],
    single: [],
    norths: [],
    souths: [],
    segments: [],
    cells: [],
    drawing: null,
    contents: null,
    width: 0,
    height: 0,
    x: 0,
    y: 0,
  };
}

function makeCells(item: Item, stacks: Map<Item, Item[]>, cellOf: Map<string, Cell>): void {
  const group = newGroup(item.node?.id ?? "", item.cell, item.node);
  item.group = group;
  if (item.cell !== null) item.cell.group = group;
  for (const child of item.children) {
    const node = child.node as LayoutNode;
    const column = stacks.get(child);
    if (column !== undefined) {
      if (column[0] === child) {
        const cell = newCell(
          "stack",
          node.id,
          column.map((one) => one.node as LayoutNode),
        );
        cell.rank = node.rank ?? null;
        group.cells.push(cell);
        for (const one of column) one.cell = cell;
      }
    } else {
      const cell = newCell("node", node.id, [node]);
      cell.rank = node.rank ?? null;
      cell.freeTops = node.expanded !== undefined || child.isGroup;
      group.cells.push(cell);
      child.cell = cell;
    }
    cellOf.set(node.id, child.cell as Cell);
  }
}

/** What edges share. */
interface Made {
  /** Items that something flows into. */
  entered: Set<Item>;
  /** Bottom ports of cells by net: what leaves one place. */
  ports: Map<Cell, Map<string, Port>>;
  segments: Map<Port, Map<Port, Segment>>;
  /** Border cells by group and net. */
  norths: Map<Group, Map<string, Cell>>;
  souths: Map<Group, Map<string, Cell>>;
}

function makeRoute(one: Oriented, made: Made): Route {
  const { edge, upper, lower, common } = one;
  const net = one.reversed ? `^${edge.id}` : `${(upper.node as LayoutNode).id}\n${edge.value ?? ""}`;
  const weak = !made.entered.has(upper) && !upper.isGroup;
  const segments: Route["segments"] = [];

  let start: Port;
  let at: Port;
  let within: Item;
  if (upper === common) {
    at = bottomOf(north(upper.group as Group, net, weak, made));
    start = at.cell.outer as Port;
    within = upper;
  } else {
    if (upper.isGroup) at = south(upper.group as Group, net, weak, made).outer as Port;
    else at = leafBottom(upper, net, weak, made);
    start = at;
    within = upper.parent as Item;
    if (edge.label !== undefined && at.label === null && !one.reversed && !upper.isGroup)
      at.label = { edge: edge.id, ...edge.label };
  }
  while (within !== common) {
    const group = within.group as Group;
    const border = south(group, net, weak, made);
    connect(group, at, border.tops[0] as Port, segments, made);
    at = border.outer as Port;
    within = within.parent as Item;
  }
  if (lower === common) {
    const border = south(common.group as Group, net, weak, made);
    const end = border.tops[0] as Port;
    connect(common.group as Group, at, end, segments, made);
    return { edge, segments, start, end: border.outer as Port, reversed: one.reversed };
  }
  const inner: Item[] = [];
  for (let item = lower.parent as Item; item !== common; item = item.parent as Item) inner.push(item);
  for (let i = inner.length - 1; i >= 0; i--) {
    const border = north((inner[i] as Item).group as Group, net, weak, made);
    connect(within.group as Group, at, border.outer as Port, segments, made);
    at = bottomOf(border);
    within = inner[i] as Item;
  }
  let end: Port;
  if (lower.isGroup) end = north(lower.group as Group, net, weak, made).outer as Port;
  else {
    const cell = lower.cell as Cell;
    end = newPort(cell, weak);
    end.node = lower.node;
    cell.tops.push(end);
  }
  connect(within.group as Group, at, end, segments, made);
  return { edge, segments, start, end, reversed: one.reversed };
}

function bottomOf(cell: Cell): Port {
  return cell.bottoms[0] as Port;
}

function leafBottom(item: Item, net: string, weak: boolean, made: Made): Port {
  const cell = item.cell as Cell;
  let ports = made.ports.get(cell);
  if (ports === undefined) {
    ports = new Map();
    made.ports.set(cell, ports);
  }
  let port = ports.get(net);
  if (port === undefined) {
    port = newPort(cell, weak);
    port.node = item.node;
    ports.set(net, port);
    cell.bottoms.push(port);
  }
  return port;
}

function north(group: Group, net: string, weak: boolean, made: Made): Cell {
  return border("north", group, net, weak, made.norths);
}

function south(group: Group, net: string, weak: boolean, made: Made): Cell {
  return border("south", group, net, weak, made.souths);
}

function border(kind: "north" | "south", group: Group, net: string, weak: boolean, made: Made["norths"]): Cell {
  let known = made.get(group);
  if (known === undefined) {
    known = new Map();
    made.set(group, known);
  }
  let border = known.get(net);
  if (border === undefined) {
    border = newCell(kind, `${group.id}\n${kind}\n${net}`);
    const port = newPort(border, weak);
    const cell = group.cell as Cell;
    border.outer = newPort(cell, weak);
    border.outer.inner = border;
    if (kind === "north") {
      border.bottoms.push(port);
      cell.tops.push(border.outer);
      group.norths.push(border);
    } else {
      border.tops.push(port);
      cell.bottoms.push(border.outer);
      group.souths.push(border);
    }
    known.set(net, border);
  }
  return border;
}

function connect(group: Group, from: Port, to: Port, segments: Route["segments"], made: Made): void {
  let known = made.segments.get(from);
  if (known === undefined) {
    known = new Map();
    made.segments.set(from, known);
  }
  let segment = known.get(to);
  if (segment === undefined) {
    segment = { from, to, weight: 0, links: [], points: [], labelSide: 0 };
    known.set(to, segment);
    group.segments.push(segment);
  }
  segment.weight++;
  segments.push({ group, segment });
}

/**
 * Border cells get names and an order by what they lead to inside, the same whatever the other end is: expanding that
 * changes nothing here. The groups inside must have been named.
 */
function nameBorders(group: Group): void {
  group.cells.forEach((cell, i) => {
    cell.index = i;
    cell.tops.forEach((port, k) => {
      port.index = k;
    });
    cell.bottoms.forEach((port, k) => {
      port.index = k;
    });
  });
  const inner = new Map<Cell, Port>();
  for (const { from, to } of group.segments) {
    if (from.cell.kind === "north") inner.set(from.cell, firstOf(inner.get(from.cell), to));
    if (to.cell.kind === "south") inner.set(to.cell, firstOf(inner.get(to.cell), from));
  }
  const sort = (cells: Cell[], ports: Port[]): void => {
    cells.sort((p, q) => comparePorts(inner.get(p), inner.get(q)));
    cells.forEach((border, i) => {
      const port = inner.get(border);
      if (port !== undefined) border.key = `${group.id}\n${border.kind}\n${nameOf(port)}`;
      border.index = i;
      ports[i] = border.outer as Port;
    });
  };
  if (group.cell !== null) {
    sort(group.norths, group.cell.tops);
    sort(group.souths, group.cell.bottoms);
  }
  group.segments.sort((p, q) => comparePorts(p.from, q.from) || comparePorts(p.to, q.to));
}

function firstOf(a: Port | undefined, b: Port): Port {
  return comparePorts(a, b) <= 0 ? (a as Port) : b;
}

const KINDS = { north: 0, node: 1, stack: 1, dummy: 1, south: 2 };

function comparePorts(a: Port | undefined, b: Port | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return KINDS[a.cell.kind] - KINDS[b.cell.kind] || a.cell.index - b.cell.index || a.index - b.index;
}

/** Cells → the part that touches the border or has first and last boxes, parts of their own, and single cells. */
function split(group: Group): void {
  const main = newPart();
  const leader = new Map<Cell, Cell>();
  const find = (cell: Cell): Cell => {
    let at = cell;
    for (let up = leader.get(at); up !== undefined && up !== at; up = leader.get(at)) {
      leader.set(at, leader.get(up) ?? up);
      at = up;
    }
    return at;
  };
  const touched = new Set<Cell>();
  for (const { from, to } of group.segments) {
    touched.add(from.cell).add(to.cell);
    const a = find(from.cell);
    const b = find(to.cell);
    if (a !== b) leader.set(b, a);
  }
  const inMain = new Set<Cell>();
  for (const border of [...group.norths, ...group.souths]) inMain.add(find(border));
  for (const cell of group.cells) if (cell.rank !== null) inMain.add(find(cell));
  const partOf = new Map<Cell, Part>();
  // A group that only its own contents are connected with has ports, too.
  const isSingle = (cell: Cell): boolean =>
    !touched.has(cell) && cell.rank === null && cell.tops.length + cell.bottoms.length === 0;
  const connected = group.cells.filter((cell) => !isSingle(cell));
  group.single = group.cells.filter(isSingle);
  for (const cell of connected) {
    const top = find(cell);
    let part = inMain.has(top) ? main : partOf.get(top);
    if (part === undefined) {
      part = newPart();
      partOf.set(top, part);
    }
    cell.part = part;
  }
  for (const border of [...group.norths, ...group.souths]) border.part = main;
  group.parts = [main, ...partOf.values()];
}
