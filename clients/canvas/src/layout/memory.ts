/** What a layout leaves to the next one: drawings of groups by their contents, so that an unchanged group costs nothing. */

import type { Hierarchy } from "./hierarchy.js";
import { type Cell, type Drawing, type Group, nameOf, type Port } from "./model.js";

export interface Memory {
  /** By contents; the one that was used last comes last. */
  drawings: ReadonlyMap<string, Drawing>;
  /** By the id of the group; of those that are collapsed now, too. */
  latest: ReadonlyMap<string, Drawing>;
  /** Node → the one on top of the column that it stands in, and its row there; null where it stands alone. */
  columns: ReadonlyMap<string, Seat | null>;
  /** Ids given to drawings. */
  made: number;
}

export interface Seat {
  top: string;
  row: number;
}

/** Numbers that drawings may hold together; some hundred drawings of 500 boxes. */
const MOST_KEPT = 1_000_000;

/** Gives every group whose contents are those of a known drawing that drawing. */
export function recall(groups: Group[], memory: Memory): void {
  for (let i = groups.length - 1; i >= 0; i--) {
    const group = groups[i] as Group;
    const contents = contentsOf(group);
    const drawing = contents === null ? undefined : memory.drawings.get(contents);
    if (drawing === undefined) continue;
    group.contents = contents;
    draw(group, drawing);
  }
}

/** For groups without a drawing: where their cells and operands were. */
export function hint(groups: Group[], memory: Memory, widthOf: (id: string) => number): void {
  for (const group of groups) {
    const latest = memory.latest.get(group.id);
    if (group.drawing !== null || latest === undefined) continue;
    const { hints, bends } = latest;
    for (const part of group.parts) {
      for (const layer of part.layers) {
        for (const cell of layer) {
          cell.hint = hints.get(cell.key) ?? Number.NaN;
          cell.bent = bends.has(cell.key);
          cell.widthBefore = cell.kind === "node" ? widthOf(cell.key) : Number.NaN;
          if (cell.group !== null || cell.tops.length < 2) continue;
          const places = new Map(cell.tops.map((port) => [port, hints.get(operandKey(port)) ?? Number.NaN]));
          cell.topsKnown = ![...places.values()].some(Number.isNaN);
          if (cell.topsKnown) cell.tops.sort((p, q) => (places.get(p) as number) - (places.get(q) as number));
        }
      }
    }
  }
}

export function remember({ groups }: Hierarchy, before: Memory | undefined): Memory {
  const drawings = new Map(before?.drawings);
  const latest = new Map(before?.latest);
  const columns = new Map<string, Seat | null>();
  let made = before?.made ?? 0;
  for (let i = groups.length - 1; i >= 0; i--) {
    const group = groups[i] as Group;
    for (const cell of group.cells) {
      cell.nodes.forEach((node, row) => {
        columns.set(node.id, cell.kind === "stack" ? { top: cell.key, row } : null);
      });
    }
    group.drawing ??= drawingOf(group, made++);
    const contents = group.contents ?? (contentsOf(group) as string);
    drawings.delete(contents);
    drawings.set(contents, group.drawing);
    latest.set(group.id, group.drawing);
  }
  let kept = 0;
  for (const drawing of drawings.values()) kept += drawing.size;
  for (const [contents, drawing] of drawings) {
    if (kept <= MOST_KEPT) break;
    kept -= drawing.size;
    drawings.delete(contents);
  }
  return { drawings, latest, columns, made };
}

/** Everything that decides how a group is drawn; null where one inside has no drawing. */
function contentsOf(group: Group): string | null {
  const { id, header, titles, minWidth, minHeight, norths, souths, segments } = group;
  const found: (string | number)[] = [id, header, titles.left, titles.right];
  found.push(minWidth, minHeight, norths.length, souths.length);
  for (const cell of group.cells) {
    found.push("\n", cell.key, cell.rank ?? "", cell.loops.length);
    if (cell.group === null) {
      for (const { width, height, expanded } of cell.nodes) found.push(width, height, expanded === false ? "c" : "");
    } else {
      if (cell.group.drawing === null) return null;
      found.push("#", cell.group.drawing.id);
    }
    for (const ports of [cell.tops, cell.bottoms]) {
      found.push("|");
      for (const port of [...ports].sort(byIndex)) {
        found.push(port.weak ? "w" : "s");
        if (port.label !== null) found.push(port.label.width, port.label.height);
      }
    }
  }
  for (const border of [...norths, ...souths]) found.push((border.outer as Port).weak ? "w" : "s");
  for (const { from, to } of segments) found.push("\n", endOf(from), endOf(to));
  return found.join(" ");
}

function byIndex(p: Port, q: Port): number {
  return p.index - q.index;
}

function endOf(port: Port): string {
  return `${port.cell.kind[0]}${port.cell.index}.${port.index}`;
}

function operandKey(port: Port): string {
  return `${nameOf(port)}\nin`;
}

function drawingOf(group: Group, id: number): Drawing {
  const cells: number[] = [];
  for (const { x, y } of group.cells) cells.push(x, y);
  const hints = new Map<string, number>();
  const bends = new Set<string>();
  for (const part of group.parts) {
    for (const layer of part.layers) {
      for (const cell of layer) {
        hints.set(cell.key, cell.x);
        if (cell.bent) bends.add(cell.key);
        if (cell.group !== null || cell.tops.length < 2) continue;
        cell.tops.forEach((port, i) => {
          hints.set(operandKey(port), i);
        });
      }
    }
  }
  const border = (list: Cell[], ports: Port[]): Drawing["norths"] =>
    list.length === 0 ? [] : ports.map(({ inner }) => ({ index: (inner as Cell).index, x: (inner as Cell).x }));
  let size = cells.length + hints.size;
  for (const { points } of group.segments) size += points.length;
  return {
    id,
    width: group.width,
    height: group.height,
    size,
    cells,
    norths: border(group.norths, group.cell?.tops ?? []),
    souths: border(group.souths, group.cell?.bottoms ?? []),
    segments: group.segments.map(({ points, labelSide }) => ({ points, labelSide })),
    hints,
    bends,
  };
}

function draw(group: Group, drawing: Drawing): void {
  group.drawing = drawing;
  group.width = drawing.width;
  group.height = drawing.height;
  group.cells.forEach((cell, i) => {
    cell.x = drawing.cells[2 * i] as number;
    cell.y = drawing.cells[2 * i + 1] as number;
  });
  const seat = (places: Drawing["norths"], cells: Cell[]): Port[] =>
    places.map(({ index, x }) => {
      const border = cells[index] as Cell;
      border.x = x;
      return border.outer as Port;
    });
  if (group.cell !== null) {
    group.cell.tops = seat(drawing.norths, group.norths);
    group.cell.bottoms = seat(drawing.souths, group.souths);
  }
  group.segments.forEach((segment, i) => {
    const { points, labelSide } = drawing.segments[i] as Drawing["segments"][number];
    segment.points = points;
    segment.labelSide = labelSide;
  });
}
