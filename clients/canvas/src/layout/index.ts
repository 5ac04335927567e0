/**
 * Top-down layered layout of nested groups.
 *
 * Each group is a layered drawing of its own whose child groups are boxes in it; an edge that passes a border does so at
 * a port, which both drawings share. Orders are swept through the whole tree at once, places are computed from the inside
 * out. Time grows about linearly with boxes and with the layers that edges pass.
 */

import { buildHierarchy, type Hierarchy } from "./hierarchy.js";
import { assignLayers } from "./layers.js";
import type { Group, Part } from "./model.js";
import { orderCells, sketchOrder } from "./order.js";
import { placeGroup } from "./place.js";
import { boxesOf, orderOf, pathsOf } from "./route.js";
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
  const before = options.previous;
  let hierarchy: Hierarchy;
  if (before !== undefined) {
    hierarchy = order(
      buildHierarchy(nodes, edges, (id) => middle(before.boxes.get(id))),
      before,
    );
  } else {
    hierarchy = buildHierarchy(nodes, edges);
    if (!hierarchy.crowded) order(hierarchy);
    else {
      for (const group of hierarchy.groups) assignLayers(group);
      sketchOrder(hierarchy.groups);
      const { cellOf } = hierarchy;
      hierarchy = order(buildHierarchy(nodes, edges, (id) => cellOf.get(id)?.pos ?? 0));
    }
  }
  const { groups, root } = hierarchy;
  for (let i = groups.length - 1; i >= 0; i--) placeGroup(groups[i] as Group);
  const owner = new Map<Part, Group>();
  const boxes = boxesOf(groups, owner);
  const paths = pathsOf(hierarchy, boxes, owner);
  return { boxes, edges: paths, width: root.width, height: root.height, order: orderOf(groups) };
}

function order(hierarchy: Hierarchy, previous?: LayoutResult): Hierarchy {
  const { groups } = hierarchy;
  for (const group of groups) assignLayers(group);
  if (previous !== undefined) {
    for (const group of groups) {
      for (const part of group.parts) {
        for (const layer of part.layers)
          for (const cell of layer) cell.hint = previous.order.get(cell.key) ?? Number.NaN;
      }
    }
  }
  orderCells(groups);
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
