/** Distances, in pixels. */

/** Between the border of a group and its contents. */
export const PADDING = 14;
/** Between boxes of one row. */
export const NODE_GAP = 24;
/** Between a line and a box. */
export const LINE_NODE_GAP = 14;
/** Between lines. */
export const LINE_GAP = 10;
/** Between rows: the least, the most, and what a wide slope adds. */
export const ROW_GAP = 24;
export const BORDER_GAP = 6;
export const ROW_GAP_MOST = 90;
export const ROW_GAP_SLOPE = 0.08;
/** Between ports of a box, where it is wide enough. */
export const PORT_GAP = 22;
/** Between the outermost port and the corner of its box. */
export const PORT_INSET = 8;
/** Between a line and its label, and between a label and what follows. */
export const LABEL_GAP = 4;
/** A column of small boxes: between the boxes, and beside them for their lines. */
export const STACK_GAP = 12;
export const STACK_GUTTER = 14;
/** What an edge from a box to itself takes beside it. */
export const LOOP_WIDTH = 18;
/** Between parts of a group that nothing connects. */
export const PART_GAP = 32;
