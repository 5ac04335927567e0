import type { Memory } from "./memory.js";

/** All lengths are in pixels of the unscaled canvas; y grows downwards. */

export interface Point {
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Box extends Point, Size {}

export interface LayoutNode {
  id: string;
  /** Id of the group that it stands in; "" at the top level. */
  parent: string;
  /** Of a leaf or of a collapsed group; the least size of an expanded group. */
  width: number;
  height: number;
  /** `true`: a box around its children. `false`: a collapsed group, whose inputs may be in any order. Absent: an operation. */
  expanded?: boolean;
  /** Of an expanded group: what its title takes. */
  headerHeight?: number;
  /** Of an expanded group: widths of the texts at either end of its title, over which no line passes. */
  titles?: { left: number; right: number };
  /** Kept at the top or at the bottom of its parent where its edges allow it. */
  rank?: "first" | "last";
}

export interface LayoutEdge {
  id: string;
  source: string;
  target: string;
  /** Edges of one source with the same value leave it at one point and run together as far as they can. */
  value?: string;
  label?: Size;
}

export interface EdgePath {
  /**
   * From the border of the source to the border of the target. A segment is vertical where it passes boxes and
   * sloped only between rows, so a curve with vertical tangents at the ends of each sloped segment meets no box either.
   */
  points: Point[];
  /** Top left corner. Only on the first of the edges that leave at one point, and only where there is room. */
  label?: Point;
}

export interface LayoutResult {
  /** Absolute. */
  boxes: Map<string, Box>;
  /** Without the edges that have an end which is not among the nodes. */
  edges: Map<string, EdgePath>;
  width: number;
  height: number;
  /** What keeps the next layout like this one. */
  memory: Memory;
}

export interface LayoutOptions {
  /**
   * The layout before a change. A group in which nothing changed is drawn as it was, in this layout or in one before it;
   * elsewhere, what was left of its sibling stays left of it, and moves no further than others need it to.
   */
  previous?: LayoutResult;
}
