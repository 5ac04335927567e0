/** Placed cells → absolute boxes and the lines of edges. */

import type { Hierarchy } from "./hierarchy.js";
import type { Group, Port, Route } from "./model.js";
import { LABEL_GAP, LOOP_WIDTH, STACK_GAP } from "./spacing.js";
import type { Box, EdgePath, Point } from "./types.js";

export function boxesOf(groups: Group[]): Map<string, Box> {
  const boxes = new Map<string, Box>();
  for (const group of groups) {
    for (const cell of group.cells) {
      const x = group.x + cell.x;
      let y = group.y + cell.y;
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

export function pathsOf(hierarchy: Hierarchy, boxes: Map<string, Box>): Map<string, EdgePath> {
  const paths = new Map<string, EdgePath>();
  for (const route of hierarchy.routes) {
    const points: Point[] = [];
    for (const { group, segment } of route.segments) {
      for (let i = 0; i < segment.points.length; i += 2) {
        points.push({ x: group.x + (segment.points[i] as number), y: group.y + (segment.points[i + 1] as number) });
      }
    }
    const begin = points[0] as Point;
    const end = points.at(-1) as Point;
    const line = straighten([
      ...startPoints(route.start, begin.x, boxes),
      ...points,
      ...endPoints(route.end, end.x, boxes),
    ]);
    if (route.reversed) line.reverse();
    const path: EdgePath = { points: line };
    const label = labelOf(route, begin.x, boxes);
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

function boxOf(port: Port, boxes: Map<string, Box>): Box {
  return boxes.get((port.node ?? port.cell.nodes[0])?.id ?? "") as Box;
}

/** From the border of the box, the upper one of a group that contains the other end, to where the first link begins. */
function startPoints(port: Port, x: number, boxes: Map<string, Box>): Point[] {
  const box = boxOf(port, boxes);
  if (port.inner?.kind === "north") return [{ x, y: box.y }];
  const bottom = box.y + box.height;
  if (port.cell.kind !== "stack") return [{ x, y: bottom }];
  return [
    { x: box.x + box.width / 2, y: bottom },
    { x, y: bottom + STACK_GAP / 2 },
  ];
}

function endPoints(port: Port, x: number, boxes: Map<string, Box>): Point[] {
  const box = boxOf(port, boxes);
  if (port.inner?.kind === "south") return [{ x, y: box.y + box.height }];
  if (port.cell.kind !== "stack") return [{ x, y: box.y }];
  return [
    { x, y: box.y - STACK_GAP / 2 },
    { x: box.x + box.width / 2, y: box.y },
  ];
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

function labelOf(route: Route, x: number, boxes: Map<string, Box>): Point | null {
  const { label } = route.start;
  const side = route.segments[0]?.segment.labelSide ?? 0;
  if (label === null || label.edge !== route.edge.id || side === 0) return null;
  const box = boxOf(route.start, boxes);
  return { x: side < 0 ? x - LABEL_GAP - label.width : x + LABEL_GAP, y: box.y + box.height + LABEL_GAP / 2 };
}
