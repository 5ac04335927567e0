/**
 * Top-down layered layout of nested groups.
 *
 * Each group is a layered drawing of its own whose child groups are boxes in it; an edge that passes a border does so at
 * a port, which both drawings share. Orders are swept through the whole tree at once, places are computed from the inside
 * out. Time grows about linearly with boxes and with the layers that edges pass.
 */

import { buildHierarchy, type Hierarchy } from "./hierarchy.js";
import { assignLayers } from "./layers.js";
import { hint, recall, remember } from "./memory.js";
import type { Group } from "./model.js";
import { orderCells, sketchOrder } from "./order.js";
import { placeGroup } from "./place.js";
import { boxesOf, pathsOf } from "./route.js";
import type { Box, LayoutEdge, LayoutNode, LayoutOptions, LayoutResult } from "./types.js";

export type * from "./types.js";

/**
 * Lays out what is visible. The same input gives the same output.
 *
 * The order of `nodes` is the program's order and decides where nothing else does; the order of edges into one node is
 * that of its operands. Edges may join any two nodes, a group and what is inside it, or a node and itself; cycles are
 * broken by edges that point upwards. A node whose parent is not among the nodes stands at the top level; an edge whose
 * end is not among them gets no path. Throws an Error when two nodes have one id.
 */
export function layout(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  options: LayoutOptions = {},
): LayoutResult {
  const { previous } = options;
  const hierarchy = previous === undefined ? orderAnew(nodes, edges) : orderAgain(nodes, edges, previous);
  const { groups, root } = hierarchy;
  for (let i = groups.length - 1; i >= 0; i--) if (groups[i]?.drawing === null) placeGroup(groups[i] as Group);
  const boxes = boxesOf(groups);
  const paths = pathsOf(hierarchy, boxes);
  return {
    boxes,
    edges: paths,
    width: root.width,
    height: root.height,
    memory: remember(hierarchy, previous?.memory),
  };
}

function orderAnew(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Hierarchy {
  let hierarchy = buildHierarchy(nodes, edges);
  for (const group of hierarchy.groups) assignLayers(group);
  if (hierarchy.crowded) {
    sketchOrder(hierarchy.groups);
    const { cellOf } = hierarchy;
    hierarchy = buildHierarchy(nodes, edges, { columns: (id) => cellOf.get(id)?.pos ?? 0 });
    for (const group of hierarchy.groups) assignLayers(group);
  }
  orderCells(hierarchy.groups);
  return hierarchy;
}

function orderAgain(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[], previous: LayoutResult): Hierarchy {
  const { boxes, memory } = previous;
  const hierarchy = buildHierarchy(nodes, edges, { columns: (id) => middle(boxes.get(id)), before: memory.columns });
  recall(hierarchy.groups, memory);
  const changed = hierarchy.groups.filter((group) => group.drawing === null);
  for (const group of changed) assignLayers(group);
  hint(changed, memory, (id) => boxes.get(id)?.width ?? Number.NaN);
  if (changed.length > 0) orderCells(changed);
  return hierarchy;
}

function middle(box: Box | undefined): number {
  return box === undefined ? Number.MAX_VALUE : box.x + box.width / 2;
}

/** How much the corner of a box moved: shift the view by it and the box stays where the eye is. */
export function movedBy(id: string, previous: LayoutResult, next: LayoutResult): { x: number; y: number } {
  const from = previous.boxes.get(id);
  const to = next.boxes.get(id);
  return from === undefined || to === undefined ? { x: 0, y: 0 } : { x: to.x - from.x, y: to.y - from.y };
}
