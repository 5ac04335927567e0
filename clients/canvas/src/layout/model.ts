/** What the steps of a layout share: boxes become cells in layers, edges become links between neighbouring layers. */

import type { LayoutEdge, LayoutNode } from "./types.js";

/** One layered drawing: the contents of a group, or a part of them that nothing connects to the rest. */
export interface Part {
  layers: Cell[][];
  /** The previous layout ordered all of it. */
  settled: boolean;
  /** It ordered little of it. */
  fresh: boolean;
  /** Filled by `placePart`. */
  width: number;
  height: number;
  x: number;
  y: number;
  layerTop: number[];
  layerBottom: number[];
}

export interface Group {
  id: string;
  /** The cell that stands for it in its parent; null for the canvas itself. */
  cell: Cell | null;
  header: number;
  /** What lines into it keep free of at either end of its header. */
  titles: { left: number; right: number };
  minWidth: number;
  minHeight: number;
  /** The first one holds what touches the border of the group. */
  parts: Part[];
  /** Children that nothing connects to anything; laid out as a grid. */
  single: Cell[];
  norths: Cell[];
  souths: Cell[];
  segments: Segment[];
  cells: Cell[];
  /** The one of a layout before, where nothing in it has changed: it is not made again. */
  drawing: Drawing | null;
  /** What decided that. */
  contents: string | null;
  width: number;
  height: number;
  /** Absolute, of the box. */
  x: number;
  y: number;
}

/**
 * `node`: a box. `stack`: a column of small boxes. `dummy`: where a long edge passes a layer. `north`, `south`: where an
 * edge passes the border of the group whose contents these are.
 */
export type CellKind = "node" | "stack" | "dummy" | "north" | "south";

export interface Cell {
  kind: CellKind;
  /** Same in two layouts for the same thing. */
  key: string;
  /** Among the cells, or the border cells of one side, of its group. */
  index: number;
  /** One for a node, several for a stack, none otherwise. */
  nodes: LayoutNode[];
  /** The contents of an expanded group. */
  group: Group | null;
  /** Of a border cell: the port of the group's own cell that it continues. */
  outer: Port | null;
  rank: "first" | "last" | null;
  /** Whether the order of its top ports is ours to choose. */
  freeTops: boolean;
  /** The previous layout had these top ports in this order. */
  topsKnown: boolean;
  tops: Port[];
  bottoms: Port[];
  layer: number;
  pos: number;
  /** Where a sweep would have it, among the ports of the layer beside it. */
  wanted: number;
  /** From the axis of the cell to what it takes on either side, labels and loops included. */
  left: number;
  right: number;
  /** With the strip of labels below the box. */
  height: number;
  loops: string[];
  /** Axis, and top of the box, within the part; within the group once that is placed. */
  x: number;
  y: number;
  /** Horizontal place in the previous layout; not a number where it has none. */
  hint: number;
  widthBefore: number;
  part: Part | null;
  up: Link | null;
  down: Link | null;
  /** The line above it bends, so that the drawing is less wide. */
  bent: boolean;
}

export interface Port {
  cell: Cell;
  /** From the axis of the cell. */
  dx: number;
  /** Among the ports of its side of its cell, as made: that of the operand. */
  index: number;
  /** Place among the ports of its side of its layer. */
  rank: number;
  links: Link[];
  /** Of a group's cell: the border cell inside. */
  inner: Cell | null;
  /** Long edges from here share one line; its dummies, one a layer. */
  trunk: Cell[];
  label: { edge: string; width: number; height: number } | null;
  /** The box of a stack that it belongs to. */
  node: LayoutNode | null;
  /** Whether what leaves here comes from a box that nothing flows into. */
  weak: boolean;
}

/** Between two neighbouring layers. */
export interface Link {
  upper: Port;
  lower: Port;
  /** Edges that run here. */
  weight: number;
  weak: boolean;
  /** Of a line that other ways join again, such as a residual stream: to be straight before anything else. */
  stream: boolean;
}

/** The stretch of an edge within the contents of one group, from a bottom port to a top port. */
export interface Segment {
  from: Port;
  to: Port;
  weight: number;
  links: Link[];
  /** x and y in turn, within the group; filled when that is placed. */
  points: number[];
  /** On which side of its beginning the label stands; 0 where there is none. */
  labelSide: -1 | 0 | 1;
}

/** What a group looks like inside, for a group with the same contents: in the order of its cells and segments. */
export interface Drawing {
  /** Stands for it in the contents of the group around it. */
  id: number;
  width: number;
  height: number;
  /** How many numbers it holds. */
  size: number;
  /** x and y of each cell in turn. */
  cells: number[];
  /** Indices of border cells from left to right, and their x. */
  norths: { index: number; x: number }[];
  souths: { index: number; x: number }[];
  segments: { points: number[]; labelSide: -1 | 0 | 1 }[];
  /** Horizontal places by key, of long lines and of operands too. */
  hints: ReadonlyMap<string, number>;
  /** Cells above which a line bends that could be straight. */
  bends: ReadonlySet<string>;
}

export interface Route {
  edge: LayoutEdge;
  /** From the upper end to the lower one. */
  segments: { group: Group; segment: Segment }[];
  start: Port;
  end: Port;
  /** The edge points upwards: its source is the lower end. */
  reversed: boolean;
}

export function newPart(): Part {
  return { layers: [], settled: false, fresh: true, width: 0, height: 0, x: 0, y: 0, layerTop: [], layerBottom: [] };
}

export function newCell(kind: CellKind, key: string, nodes: LayoutNode[] = []): Cell {
  return {
    kind,
    key,
    index: 0,
    nodes,
    group: null,
    outer: null,
    rank: null,
    freeTops: false,
    topsKnown: false,
    tops: [],
    bottoms: [],
    layer: 0,
    pos: 0,
    wanted: 0,
    left: 0,
    right: 0,
    height: 0,
    loops: [],
    x: 0,
    y: 0,
    hint: Number.NaN,
    widthBefore: Number.NaN,
    part: null,
    up: null,
    down: null,
    bent: false,
  };
}

export function newPort(cell: Cell, weak: boolean): Port {
  return { cell, dx: 0, index: 0, rank: 0, links: [], inner: null, trunk: [], label: null, node: null, weak };
}

export function isLine(cell: Cell): boolean {
  return cell.kind === "dummy" || cell.kind === "north" || cell.kind === "south";
}

/** Of a port among all of its group. */
export function nameOf(port: Port): string {
  return port.inner?.key ?? `${port.cell.key}\n${port.index}`;
}
