// From the pages of a view to what is drawn: boxes with their sizes and lines of text, and one line for each pair of
// boxes that data flows between. Pure data, no DOM.
import type { LayoutEdge, LayoutNode } from "./layout";
import type { Measure } from "./measure";
import type * as p from "./protocol";
import { countText, lastPart, plural, RAN, shorten, typeText } from "./text";

export type BoxKind = "operation" | "boundary" | "scope" | "input" | "output" | "constant";

export interface Chip {
  kind: "state" | "constant" | "body" | "more";
  text: string;
  /** Bodies: what opens it. */
  body?: string;
}

export interface Box {
  id: string;
  parent: string;
  kind: BoxKind;
  title: string;
  /** Second line, quieter. */
  subtitle: string;
  chips: Chip[];
  width: number;
  height: number;
  /** Of an opened group: what its title and what stands at the other end of it take. */
  titles: { left: number; right: number };
  expandable: boolean;
  expanded: boolean;
  /** How many equal neighbours it stands for; 1 for most. */
  times: number;
  depth: number;
  node: p.Node;
  /** Changes when what is drawn inside the box changes. */
  content: string;
}

export interface Line {
  id: string;
  source: string;
  target: string;
  /** `f32[2,16,64]`; several types are joined, and cut. */
  label: string;
  values: p.ValueInfo[];
  /** Hidden operations that the data passes on its way. */
  through: number;
  /** Values that flow, counting each operand position. */
  count: number;
}

export interface Picture {
  boxes: Map<string, Box>;
  lines: Map<string, Line>;
}

export const HEADER_HEIGHT = 30;
/** How far the neighbours that a folded box stands for look out behind it. */
export const BEHIND = 8;
const TITLE_HEIGHT = 30;
const SUBTITLE_HEIGHT = 16;
export const CHIP_HEIGHT = 17;
const CHIPS_SHOWN = 3;
const PADDING = 11;
const TOGGLE_WIDTH = 20;
/** Between the texts at the ends of a group's title: a line passes there. */
const TITLE_GAP = 16;
/** Of the buttons that step through folded neighbours. */
export const STEPPER_WIDTH = 52;
const TITLE_LENGTH = 34;
const CLASS_LENGTH = 22;
const SUBTITLE_LENGTH = 64;
const CHIP_LENGTH = 36;
const LABEL_LENGTH = 30;

export function picture(nodes: readonly p.Node[], edges: readonly p.Edge[], measure: Measure): Picture {
  const boxes = new Map<string, Box>();
  for (const node of nodes) {
    const above = node.parent ? boxes.get(node.parent) : undefined;
    boxes.set(node.id, box(node, above ? above.depth + 1 : 0, measure));
  }
  return { boxes, lines: lines(edges, boxes) };
}

function box(node: p.Node, depth: number, measure: Measure): Box {
  const kind = boxKind(node);
  const expandable = isGroup(node);
  const expanded = node.expanded ?? false;
  const title = shorten(titleText(node), TITLE_LENGTH);
  const subtitle = shorten(subtitleText(node), SUBTITLE_LENGTH);
  const shown = expanded ? [] : chips(node);
  const times = node.fold?.count ?? 1;
  const foldWidth = times > 1 ? measure(`×${times}`, "title") + 12 + (expanded ? STEPPER_WIDTH : 0) : 0;
  const titleWidth = measure(title, "title") + (expandable ? TOGGLE_WIDTH : 0) + foldWidth;
  const widths = [titleWidth, measure(subtitle, "mono"), ...shown.map((chip) => measure(chip.text, "mono") + 14)];
  const endWidth = times > 1 ? STEPPER_WIDTH + 14 : measure(subtitle, "mono");
  const titles = {
    left: Math.ceil(PADDING + TOGGLE_WIDTH + measure(title, "title") + TITLE_GAP / 2),
    right: Math.ceil(PADDING + endWidth + TITLE_GAP / 2),
  };
  if (expanded) widths[0] = titleWidth + TITLE_GAP + measure(subtitle, "mono");
  const behind = times > 1 && !expanded ? BEHIND : 0;
  const width = Math.ceil(Math.max(54, ...widths) + 2 * PADDING) + behind;
  const height = expanded
    ? HEADER_HEIGHT
    : behind + TITLE_HEIGHT + (subtitle ? SUBTITLE_HEIGHT : 0) + (shown.length ? shown.length * CHIP_HEIGHT + 5 : 0);
  return {
    id: node.id,
    parent: node.parent ?? "",
    kind,
    title,
    subtitle,
    chips: shown,
    width,
    height,
    titles,
    expandable,
    expanded,
    times,
    depth,
    node,
    content: [
      kind,
      expanded,
      times,
      node.fold?.instance ?? 0,
      title,
      subtitle,
      ...shown.map((chip) => `${chip.kind}:${chip.text}`),
    ].join("\n"),
  };
}

/** Whether other nodes stand inside the node once it is open. */
export function isGroup(node: p.Node): boolean {
  return node.kind === "scope" || node.leaves !== undefined;
}

/** A function of PyTorch whose bodies tell the operators that ran below it: nothing about it is closed, as of a boundary. */
export function isFunction(node: p.Node): boolean {
  return Boolean(node.bodies?.length && node.bodies.every((body) => body.role === RAN));
}

function boxKind(node: p.Node): BoxKind {
  if (node.kind !== "operation") return node.kind;
  if (isFunction(node)) return "operation";
  return node.opaque || node.bodies?.length ? "boundary" : "operation";
}

function titleText(node: p.Node): string {
  const fold = node.fold;
  if (fold && !node.expanded) return fold.first === fold.last ? node.label : `${fold.first} … ${fold.last}`;
  if (node.segment) return `${node.label} (${node.segment.number} of ${node.segment.count})`;
  return node.label;
}

function subtitleText(node: p.Node): string {
  if (node.kind === "operation" && node.opaque && !node.bodies?.length) return "opaque";
  if (node.leaves !== undefined) return plural(node.leaves, "array");
  if (node.kind !== "scope") return "";
  const parts: string[] = [];
  const className = node.className && lastPart(node.className);
  if (className && className !== node.label) parts.push(shorten(className, CLASS_LENGTH));
  else if (node.scopeKind && node.scopeKind !== "module") parts.push(node.scopeKind);
  const fold = node.expanded ? undefined : node.fold;
  const times = fold ? `${fold.count} × ` : "";
  if (node.operations !== undefined) parts.push(times + plural(node.operations, "op"));
  const parameters = (fold ?? node).costs?.parameters;
  if (parameters) parts.push(`${countText(parameters)} params${fold ? " in all" : ""}`);
  return parts.join(" · ");
}

/** Parameters and constants stand inside the box that reads them; the bodies of a boundary are opened from it. */
function chips(node: p.Node): Chip[] {
  if (node.kind !== "operation") return [];
  const all: Chip[] = [];
  for (const body of node.bodies ?? []) {
    all.push({
      kind: "body",
      text: shorten(`${body.role} · ${plural(body.operations, "op")} ↗`, CHIP_LENGTH),
      body: body.id,
    });
  }
  const quiet: Chip[] = [];
  for (const value of node.state ?? []) {
    quiet.push({ kind: "state", text: chipText(value) });
  }
  for (const value of node.constants ?? []) {
    quiet.push({ kind: "constant", text: chipText(value) });
  }
  const total = (node.stateTotal ?? node.state?.length ?? 0) + (node.constantsTotal ?? node.constants?.length ?? 0);
  if (total <= CHIPS_SHOWN) return [...all, ...quiet];
  return [
    ...all,
    ...quiet.slice(0, CHIPS_SHOWN - 1),
    { kind: "more", text: `+${countText(total - CHIPS_SHOWN + 1)} more` },
  ];
}

function chipText(value: p.ValueInfo): string {
  const type = typeText(value);
  const name = value.name ? lastPart(value.name) : "";
  return name ? `${shorten(name, Math.max(6, CHIP_LENGTH - type.length - 1))} ${type}` : shorten(type, CHIP_LENGTH);
}

/** One line for each pair of boxes; edges whose source did not come with the pages are left out. */
function lines(edges: readonly p.Edge[], boxes: ReadonlyMap<string, Box>): Map<string, Line> {
  const found = new Map<string, Line>();
  for (const edge of edges) {
    if (!boxes.has(edge.source) || !boxes.has(edge.target)) continue;
    const id = `${edge.source}\u2192${edge.target}`;
    let line = found.get(id);
    if (!line) {
      line = { id, source: edge.source, target: edge.target, label: "", values: [], through: 0, count: 0 };
      found.set(id, line);
    }
    line.values.push(edge.value);
    line.through = Math.max(line.through, edge.through ?? 0);
    line.count += edge.count ?? 1;
  }
  for (const line of found.values()) line.label = lineLabel(line);
  return found;
}

function lineLabel(line: Line): string {
  const types = [...new Set(line.values.map(typeText))];
  const first = types[0] ?? "";
  if (line.count === 1) return shorten(first, LABEL_LENGTH);
  if (types.length === 1 && line.count === line.values.length) return shorten(`${first} ×${line.count}`, LABEL_LENGTH);
  return shorten(`${first} +${line.count - 1}`, LABEL_LENGTH);
}

export function layoutNodes(picture: Picture): LayoutNode[] {
  return [...picture.boxes.values()].map((box) => ({
    id: box.id,
    parent: box.parent,
    width: box.width,
    height: box.height,
    ...(box.expandable ? { expanded: box.expanded } : {}),
    headerHeight: HEADER_HEIGHT,
    ...(box.expanded ? { titles: box.titles } : {}),
    ...(box.kind === "input" ? { rank: "first" as const } : box.kind === "output" ? { rank: "last" as const } : {}),
  }));
}

export function layoutEdges(picture: Picture, measure: Measure): LayoutEdge[] {
  return [...picture.lines.values()].map((line) => ({
    id: line.id,
    source: line.source,
    target: line.target,
    value: line.label,
    label: { width: Math.ceil(measure(line.label, "mono")) + 8, height: 16 },
  }));
}
