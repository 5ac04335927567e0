/** Placed cells → absolute boxes and the lines of edges. */

import type { Hierarchy } from "./hierarchy.js";
import type { Cell, Group, Link, Part, Port, Route } from "./model.js";
import { LABEL_GAP, LOOP_WIDTH, STACK_GAP } from "./spacing.js";
import type { Box, EdgePath, LayoutNode, Point } from "./types.js";

export function boxesOf(groups: Group[], owner: Map<Part, Group>): Map<string, Box> {
  const boxes = new Map<string, Box>();
  for (const group of groups) {
    for (const part of group.parts) owner.set(part, group);
    for (const cell of group.cells) {
      const x = group.x + (cell.part?.x ?? 0) + cell.x;
      let y = group.y + (cell.part?.y ?? 0) + cell.y;
      const inner = cell.group;
      if (inner !== null) {
        inner.x = x - inner.width / 2;
        inner.y = y;
        boxes.set(inner.id, { x: inner.x, y, width: inner.width, height: inner.height });
        continue;
      }
      for (const node of cell.nodes) {
        if (cell.kind === "stack") y += STACK_GAP / 2;
        boxes.set(node.id, { x: x - node.width / 2, y, width: node.width, height: node.height });
        if (cell.kind === "stack") y += node.height + STACK_GAP / 2;
      }
    }
  }
  return boxes;
}

export function pathsOf(hierarchy: Hierarchy, boxes: Map<string, Box>, owner: Map<Part, Group>): Map<string, EdgePath> {
  const paths = new Map<string, EdgePath>();
  const place = (port: Port): { x: number; group: Group; part: Part } => {
    const part = port.cell.part as Part;
    const group = owner.get(part) as Group;
    return { x: group.x + part.x + port.cell.x + port.dx, group, part };
  };
  for (const route of hierarchy.routes) {
    const points: Point[] = [];
    points.push(...startPoints(route.start, boxes, place));
    for (const segment of route.segments) for (const link of segment.links) addLink(points, link, place);
    points.push(...endPoints(route.end, boxes, place));
    const line = straighten(points);
    if (route.reversed) line.reverse();
    const path: EdgePath = { points: line };
    const label = labelOf(route, boxes, place);
    if (label !== null) path.label = label;
    paths.set(route.edge.id, path);
  }
  for (const { id, source } of hierarchy.loops) {
    const box = boxes.get(source);
    if (box === undefined) continue;
    const right = box.x + box.width;
    const out = right + LOOP_WIDTH / 2;
    const low = box.y + box.height * 0.75;
    const high = box.y + box.height * 0.25;
    paths.set(id, {
      points: [
        { x: right, y: low },
        { x: out, y: low },
        { x: out, y: high },
        { x: right, y: high },
      ],
    });
  }
  return paths;
}

type Place = (port: Port) => { x: number; group: Group; part: Part };

function nodeOf(port: Port): LayoutNode | null {
  return port.node ?? port.cell.nodes[0] ?? null;
}

/** From the lower border of the box to where the first link begins. */
function startPoints(port: Port, boxes: Map<string, Box>, place: Place): Point[] {
  const { x, group, part } = place(port);
  const cell = port.cell;
  if (port.inner?.kind === "north") return [{ x, y: group.y + part.y + cell.y }];
  const box = boxes.get(nodeOf(port)?.id ?? "") as Box;
  const bottom = box.y + box.height;
  if (cell.kind !== "stack") return [{ x, y: bottom }];
  return [
    { x: box.x + box.width / 2, y: bottom },
    { x, y: bottom + STACK_GAP / 2 },
  ];
}

function endPoints(port: Port, boxes: Map<string, Box>, place: Place): Point[] {
  const { x, group, part } = place(port);
  const cell = port.cell;
  if (port.inner?.kind === "south") return [{ x, y: group.y + part.y + cell.y + cell.height }];
  const box = boxes.get(nodeOf(port)?.id ?? "") as Box;
  if (cell.kind !== "stack") return [{ x, y: box.y }];
  return [
    { x, y: box.y - STACK_GAP / 2 },
    { x: box.x + box.width / 2, y: box.y },
  ];
}

function addLink(points: Point[], link: Link, place: Place): void {
  const from = place(link.upper);
  const to = place(link.lower);
  const top = from.group.y + from.part.y;
  points.push(
    { x: from.x, y: top + (from.part.layerBottom[link.upper.cell.layer] as number) },
    { x: to.x, y: top + (to.part.layerTop[link.lower.cell.layer] as number) },
  );
}

/** Without points that the line passes anyway. */
function straighten(points: Point[]): Point[] {
  const line: Point[] = [];
  for (const point of points) {
    const last = line.at(-1);
    if (last !== undefined && Math.abs(last.x - point.x) < 0.01 && Math.abs(last.y - point.y) < 0.01) continue;
    const before = line.at(-2);
    if (
      last !== undefined &&
      before !== undefined &&
      Math.abs(before.x - last.x) < 0.01 &&
      Math.abs(last.x - point.x) < 0.01
    ) {
      line.pop();
    }
    line.push(point);
  }
  return line;
}

function labelOf(route: Route, boxes: Map<string, Box>, place: Place): Point | null {
  const { label, cell } = route.start;
  if (label === null || label.edge !== route.edge.id) return null;
  const { x } = place(route.start);
  const box = boxes.get(nodeOf(route.start)?.id ?? "") as Box;
  const left = cell.bottoms.length === 2 && cell.bottoms[0] === route.start;
  return { x: left ? x - LABEL_GAP - label.width : x + LABEL_GAP, y: box.y + box.height + LABEL_GAP / 2 };
}

/** Absolute places of the cells' axes within their group: what the next layout keeps. */
export function orderOf(groups: Group[]): Map<string, number> {
  const order = new Map<string, number>();
  const note = (cell: Cell): void => {
    order.set(cell.key, cell.x);
  };
  for (const group of groups) {
    for (const part of group.parts) for (const layer of part.layers) layer.forEach(note);
  }
  return order;
}
