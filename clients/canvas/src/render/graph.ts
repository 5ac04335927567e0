// The picture of a graph as SVG. Only what is near the screen is in the document, an element is made again only when its
// content changed, and moving the viewport changes one attribute.
import { BEHIND, type Box, CHIP_HEIGHT, HEADER_HEIGHT, type Line, STEPPER_WIDTH } from "../model";
import type { Shown } from "../state";
import { longTypeText } from "../text";
import { bounds, curve } from "./curve";
import { listen } from "./gestures";
import { make } from "./svg";
import {
  aside,
  contains,
  firstLook,
  fitAll,
  overlaps,
  type Rect,
  readable,
  reveal,
  type Size,
  seen,
  type Viewport,
  zoomAt,
} from "./viewport";

export interface Callbacks {
  select(id: string | undefined): void;
  toggle(id: string): void;
  body(node: string, body: string): void;
  step(node: string, by: number): void;
  zoomed(k: number): void;
}

/** What is drawn on top of the same picture. */
export interface Decoration {
  selected: string | undefined;
  hits: ReadonlySet<string>;
  marked: ReadonlySet<string>;
  changed: ReadonlySet<string>;
  dimmed: ReadonlySet<string>;
  /** Node → step of the colour scale, 0 to 8. */
  colours: ReadonlyMap<string, number>;
}

export interface GraphView {
  readonly element: SVGSVGElement;
  readonly viewport: Viewport;
  /** `anchor`: a box that stays where it is on the screen. */
  draw(shown: Shown, label: string, anchor?: string): void;
  decorate(decoration: Decoration): void;
  clear(): void;
  fit(): void;
  readable(): void;
  zoom(factor: number): void;
  pan(dx: number, dy: number): void;
  reveal(id: string): void;
  /**
   * What covers the picture at its right and its bottom, or will, and at its top: nothing is revealed or fitted under it.
   * The beginning of a graph steps aside from what comes at the top, and back when that goes.
   */
  cover(right: number, bottom: number, top: number): void;
  /** Draws everything, near the screen or not, at its own size, until `restore`. */
  whole(): SVGSVGElement;
  restore(): void;
}

const MARGIN = 0.6;
/** Between what covers the top and the beginning of a graph. */
const MARGIN_BELOW = 12;
/** Below these zooms, boxes have no text at all, and only titles. */
const FAR = 0.16;
const MIDDLE = 0.42;

interface Drawn {
  element: SVGGElement;
  /** Of an opened group: what lies under the lines; its title lies above them. */
  under: SVGGElement | undefined;
  content: string;
  place: string;
  className: string;
}

export function createGraphView(parent: HTMLElement, callbacks: Callbacks): GraphView {
  const svg = make("svg", { class: "graph", role: "tree", tabindex: 0, "aria-label": "Graph" });
  const defs = make("defs", {});
  for (const name of ["arrow", "arrow-on"]) {
    const marker = make("marker", {
      id: name,
      class: name,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      orient: "auto-start-reverse",
      markerUnits: "userSpaceOnUse",
    });
    marker.append(make("path", { d: "M0 0.8L8 4L0 7.2z" }));
    defs.append(marker);
  }
  const world = make("g", { class: "world" });
  const layers = {
    groups: make("g", { class: "groups" }),
    lines: make("g", { class: "lines", "aria-hidden": "true" }),
    boxes: make("g", { class: "boxes" }),
    labels: make("g", { class: "labels", "aria-hidden": "true" }),
  };
  world.append(layers.groups, layers.lines, layers.boxes, layers.labels);
  svg.append(defs, world);
  parent.append(svg);

  let shown: Shown | undefined;
  let viewport: Viewport = { x: 0, y: 0, k: 1 };
  let decoration: Decoration = {
    selected: undefined,
    hits: new Set(),
    marked: new Set(),
    changed: new Set(),
    dimmed: new Set(),
    colours: new Map(),
  };
  let drawnArea: Rect | undefined;
  let drawnZoom = 1;
  let frame = 0;
  let screen: Size = { width: 0, height: 0 };
  let covered = { right: 0, bottom: 0, top: 0 };
  let stepped = 0;
  let counter = 0;
  const boxes = new Map<string, Drawn>();
  const lines = new Map<string, Drawn & { label: SVGTextElement | undefined }>();
  let lineBounds = new Map<string, Rect>();

  new ResizeObserver(() => {
    const box = svg.getBoundingClientRect();
    const before = screen;
    screen = { width: box.width, height: box.height };
    if (before.width > 0 && box.width > 0) {
      viewport = { ...viewport, x: viewport.x + (box.width - before.width) / 2 };
    }
    schedule();
  }).observe(svg);

  function measureScreen(): void {
    const box = svg.getBoundingClientRect();
    screen = { width: box.width, height: box.height };
  }

  function move(next: Viewport): void {
    const zoomed = next.k !== viewport.k;
    viewport = next;
    schedule();
    if (zoomed) callbacks.zoomed(next.k);
  }

  function schedule(): void {
    if (frame !== 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      place();
    });
  }

  /** Puts the world in its place, and draws what came near the screen. */
  function place(): void {
    world.setAttribute("transform", `translate(${viewport.x} ${viewport.y}) scale(${viewport.k})`);
    const detail = viewport.k < FAR ? "far" : viewport.k < MIDDLE ? "middle" : "near";
    const coarser = (detail === "far") !== (svg.dataset.detail === "far");
    if (svg.dataset.detail !== detail) svg.dataset.detail = detail;
    const area = seen(viewport, screen, 0);
    if (!coarser && drawnArea && contains(drawnArea, area) && viewport.k < drawnZoom * 2.5) return;
    drawNear();
  }

  function drawNear(area: Rect = seen(viewport, screen, MARGIN)): void {
    if (!shown) return;
    drawnArea = area;
    drawnZoom = viewport.k;
    const { picture, layout } = shown;
    const near = new Set<string>();
    for (const [id, rect] of layout.boxes) {
      if (overlaps(rect, area) && picture.boxes.has(id)) near.add(id);
    }
    // A screen reader stays at the selected box.
    if (decoration.selected && layout.boxes.has(decoration.selected)) near.add(decoration.selected);
    for (const [id, drawn] of boxes) {
      if (near.has(id)) continue;
      drawn.element.remove();
      drawn.under?.remove();
      boxes.delete(id);
    }
    const groups: SVGGElement[] = [];
    const all: SVGGElement[] = [];
    for (const box of picture.boxes.values()) {
      if (!near.has(box.id)) continue;
      const drawn = drawBox(box, layout.boxes.get(box.id) as Rect);
      all.push(drawn.element);
      if (drawn.under) groups.push(drawn.under);
    }
    // In the order of the pages, depth first: a screen reader reads it so, and outer groups lie under inner ones.
    keepOrder(layers.groups, groups);
    keepOrder(layers.boxes, all);

    const nearLines = new Set<string>();
    for (const [id, rect] of lineBounds) if (overlaps(rect, area)) nearLines.add(id);
    for (const [id, drawn] of lines) {
      if (nearLines.has(id)) continue;
      drawn.element.remove();
      drawn.label?.remove();
      lines.delete(id);
    }
    for (const id of nearLines) drawLine(picture.lines.get(id) as Line);
    paint();
  }

  function drawBox(box: Box, rect: Rect): Drawn {
    let drawn = boxes.get(box.id);
    const plain = svg.dataset.detail === "far";
    const content = `${plain}${box.content}\n${rect.width}×${rect.height}`;
    if (!drawn) {
      counter += 1;
      const element = make("g", { id: `box-${counter}`, role: "treeitem" });
      drawn = { element, under: undefined, content: "", place: "", className: "" };
      drawn.element.dataset.id = box.id;
      boxes.set(box.id, drawn);
    }
    if (drawn.content !== content) {
      drawn.content = content;
      fill(drawn.element, box, rect, plain);
      drawn.under?.remove();
      drawn.under = undefined;
      if (box.expanded) {
        drawn.under = make("g", { "aria-hidden": "true", class: drawn.className, transform: drawn.place });
        drawn.under.dataset.id = box.id;
        drawn.under.append(make("rect", { class: "back", width: rect.width, height: rect.height, rx: 8 }));
      }
    }
    const place = `translate(${rect.x} ${rect.y})`;
    if (drawn.place !== place) {
      drawn.place = place;
      drawn.element.setAttribute("transform", place);
      drawn.under?.setAttribute("transform", place);
    }
    return drawn;
  }

  function drawLine(line: Line): void {
    const route = shown?.layout.edges.get(line.id);
    if (!route) return;
    let drawn = lines.get(line.id);
    if (!drawn) {
      const element = make("g", {});
      element.dataset.line = line.id;
      element.append(make("path", { class: "line", "marker-end": "url(#arrow)" }));
      drawn = { element, under: undefined, content: "", place: "", className: "", label: undefined };
      lines.set(line.id, drawn);
      layers.lines.append(element);
    }
    const path = curve(route.points);
    if (drawn.place !== path) {
      drawn.place = path;
      for (const child of drawn.element.children) child.setAttribute("d", path);
    }
    if (route.label && line.label) {
      drawn.label ??= layers.labels.appendChild(make("text", { class: "label" }));
      const at = `${route.label.x},${route.label.y},${line.label}`;
      if (drawn.content !== at) {
        drawn.content = at;
        drawn.label.setAttribute("x", String(route.label.x + 4));
        drawn.label.setAttribute("y", String(route.label.y + 12));
        drawn.label.textContent = line.label;
      }
    } else {
      drawn.label?.remove();
      drawn.label = undefined;
      drawn.content = "";
    }
  }

  /** Classes of what is drawn, from the decoration. */
  function paint(): void {
    if (!shown) return;
    const { picture } = shown;
    for (const [id, drawn] of boxes) {
      const box = picture.boxes.get(id);
      if (!box) continue;
      let name = `box ${box.kind}`;
      if (box.expanded) name += " group";
      if (box.node.scopeKind === "module") name += " module";
      if (box.times > 1) name += " folded";
      if (decoration.selected === id) name += " selected";
      if (decoration.hits.has(id)) name += " found";
      if (decoration.marked.has(id)) name += " marked";
      if (decoration.changed.has(id)) name += " changed";
      if (decoration.dimmed.has(id)) name += " dimmed";
      const colour = decoration.colours.get(id);
      if (colour !== undefined) name += ` scale scale-${colour}`;
      if (name === drawn.className) continue;
      drawn.className = name;
      drawn.element.setAttribute("class", name);
      drawn.under?.setAttribute("class", name);
      drawn.element.setAttribute("aria-selected", String(decoration.selected === id));
    }
    for (const [id, drawn] of lines) {
      const line = picture.lines.get(id);
      if (!line) continue;
      const on = decoration.selected === line.source || decoration.selected === line.target;
      const dimmed = decoration.dimmed.has(line.source) || decoration.dimmed.has(line.target);
      const name = `edge${on ? " on" : ""}${dimmed ? " dimmed" : ""}${line.through ? " through" : ""}`;
      if (name === drawn.className) continue;
      drawn.className = name;
      drawn.element.setAttribute("class", name);
      drawn.element.lastElementChild?.setAttribute("marker-end", on ? "url(#arrow-on)" : "url(#arrow)");
      drawn.label?.setAttribute("class", on ? "label on" : dimmed ? "label dimmed" : "label");
    }
    const active = decoration.selected ? boxes.get(decoration.selected)?.element.id : undefined;
    if (active) svg.setAttribute("aria-activedescendant", active);
    else svg.removeAttribute("aria-activedescendant");
  }

  function draw(next: Shown, label: string, anchor?: string): void {
    measureScreen();
    const before = shown;
    shown = next;
    svg.setAttribute("aria-label", label);
    // Only those near the screen are in the document.
    svg.dataset.boxes = String(next.picture.boxes.size);
    lineBounds = new Map();
    for (const [id, route] of next.layout.edges) {
      if (next.picture.lines.has(id)) lineBounds.set(id, bounds(route.points));
    }
    const same = before && before.bodies.at(-1)?.id === next.bodies.at(-1)?.id ? keep(before, next, anchor) : undefined;
    if (same) {
      const opened = anchor === undefined ? undefined : next.layout.boxes.get(anchor);
      viewport = opened ? aside(same, opened, next.layout, free()) : same;
    } else {
      stepped = 0;
      viewport = lowered(firstLook(next.layout, below(), largest(next), free()));
      callbacks.zoomed(viewport.k);
    }
    drawnArea = undefined;
    place();
  }

  /** What nothing covers. */
  function free(): Size {
    return { width: screen.width - covered.right, height: below().height - covered.bottom };
  }

  /** The screen below what covers its top; `lowered` leads from places in it to those of the screen. */
  function below(): Size {
    return { width: screen.width, height: screen.height - covered.top };
  }

  function lowered(view: Viewport, by = covered.top): Viewport {
    return { ...view, y: view.y + by };
  }

  /** The viewport in which the anchor, or else what was nearest to the middle, stays where it was. */
  function keep(before: Shown, next: Shown, anchor: string | undefined): Viewport | undefined {
    const known = (id: string) => before.layout.boxes.has(id) && next.layout.boxes.has(id);
    const best = anchor !== undefined && known(anchor) ? anchor : nearMiddle(before, known);
    const old = best && before.layout.boxes.get(best);
    const now = best && next.layout.boxes.get(best);
    if (!old || !now) return undefined;
    // The corner with the button stays under the pointer.
    return {
      k: viewport.k,
      x: viewport.x + (old.x - now.x) * viewport.k,
      y: viewport.y + (old.y - now.y) * viewport.k,
    };
  }

  /** The box whose middle is nearest to that of the screen, of those that are `wanted`. */
  function nearMiddle(of: Shown, wanted: (id: string) => boolean): string | undefined {
    const x = (screen.width / 2 - viewport.x) / viewport.k;
    const y = (screen.height / 2 - viewport.y) / viewport.k;
    let best: string | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [id, rect] of of.layout.boxes) {
      if (!wanted(id)) continue;
      const away = Math.hypot(rect.x + rect.width / 2 - x, rect.y + rect.height / 2 - y);
      if (away >= least) continue;
      least = away;
      best = id;
    }
    return best;
  }

  listen(svg, {
    pan: (dx, dy) => move({ ...viewport, x: viewport.x + dx, y: viewport.y + dy }),
    zoom: (x, y, factor) => move(zoomAt(viewport, x, y, factor)),
    click(event) {
      const target = event.target as Element;
      const id = target.closest<SVGElement>("[data-id]")?.dataset.id;
      const body = target.closest<SVGElement>("[data-body]")?.dataset.body;
      const step = target.closest<SVGElement>("[data-step]")?.dataset.step;
      if (!id) callbacks.select(undefined);
      else if (body) callbacks.body(id, body);
      else if (step) callbacks.step(id, Number(step));
      else if (target.closest("[data-toggle]")) callbacks.toggle(id);
      else callbacks.select(id);
    },
  });
  svg.addEventListener("dblclick", (event) => {
    const target = event.target as Element;
    const id = target.closest<SVGElement>("[data-id]")?.dataset.id;
    if (!id || target.closest("[data-body],[data-toggle],[data-step]")) return;
    const box = shown?.picture.boxes.get(id);
    const body = box?.chips.find((chip) => chip.body)?.body;
    if (box?.expandable) callbacks.toggle(id);
    else if (body) callbacks.body(id, body);
  });

  return {
    element: svg,
    get viewport() {
      return viewport;
    },
    draw,
    decorate(next) {
      const far = next.selected && !boxes.has(next.selected);
      decoration = next;
      if (far) drawNear();
      else paint();
    },
    clear() {
      shown = undefined;
      for (const layer of Object.values(layers)) layer.replaceChildren();
      boxes.clear();
      lines.clear();
      lineBounds.clear();
    },
    fit() {
      measureScreen(); // the window may have another size since the last frame
      stepped = 0;
      if (shown) move(lowered(fitAll(shown.layout, below(), free())));
    },
    readable() {
      if (!shown) return;
      const chosen = decoration.selected ?? nearMiddle(shown, (id) => !shown?.picture.boxes.get(id)?.expanded);
      const rect = chosen && shown.layout.boxes.get(chosen);
      if (rect) move(lowered(readable(rect, free())));
    },
    zoom: (factor) => move(zoomAt(viewport, screen.width / 2, screen.height / 2, factor)),
    pan: (dx, dy) => move({ ...viewport, x: viewport.x + dx, y: viewport.y + dy }),
    reveal(id) {
      const rect = shown?.layout.boxes.get(id);
      if (rect) move(lowered(reveal(lowered(viewport, -covered.top), rect, free())));
    },
    cover(right, bottom, top) {
      const before = covered.top;
      covered = { right, bottom, top };
      if (!shown || top === before) return;
      const beginning = viewport.y - stepped;
      const step = top > 0 && beginning >= 0 ? Math.max(0, top + MARGIN_BELOW - beginning) : 0;
      if (step !== stepped) move({ ...viewport, y: beginning + step });
      stepped = step;
    },
    whole() {
      svg.dataset.detail = "near";
      if (shown) drawNear({ x: 0, y: 0, width: shown.layout.width, height: shown.layout.height });
      world.removeAttribute("transform");
      return svg;
    },
    restore() {
      drawnArea = undefined;
      place();
    },
  };
}

/** The place of the box that stands for most operations; of equal ones the first. */
function largest(shown: Shown): Rect | undefined {
  let best: Rect | undefined;
  let most = 0;
  for (const box of shown.picture.boxes.values()) {
    const operations = box.expanded ? 0 : (box.node.fold?.operations ?? box.node.operations ?? 1);
    if (operations <= most) continue;
    most = operations;
    best = shown.layout.boxes.get(box.id);
  }
  return best;
}

/** Makes `wanted` the children of a layer, moving only what is not in its place. */
function keepOrder(layer: SVGGElement, wanted: readonly SVGGElement[]): void {
  let at = layer.firstElementChild;
  for (const element of wanted) {
    if (element === at) at = at.nextElementSibling;
    else layer.insertBefore(element, at);
  }
}

const PAD = 11;

/** `plain`: too far away to read anything. */
function fill(element: SVGGElement, box: Box, rect: Rect, plain: boolean): void {
  const behind = box.times > 1 && !box.expanded ? BEHIND : 0;
  const width = rect.width - behind;
  const height = rect.height - behind;
  const ports = !box.expandable && (box.kind === "input" || box.kind === "output");
  const round = ports ? Math.min(height / 2, 15) : box.expandable ? 7 : 5;
  const parts: SVGElement[] = [];
  if (behind) {
    for (const by of [behind, behind / 2])
      parts.push(make("rect", { class: "behind", x: by, y: by, width, height, rx: round }));
  }
  if (!box.expanded) parts.push(make("rect", { class: "back", width, height, rx: round }));
  if (plain) {
    element.replaceChildren(...parts);
    describe(element, box);
    return;
  }
  if (box.kind === "boundary")
    parts.push(make("rect", { class: "inner", x: 3, y: 3, width: width - 6, height: height - 6, rx: 3 }));
  let left = PAD;
  if (box.expandable) {
    const toggle = make("g", { class: "toggle", transform: `translate(${left - 3} ${HEADER_HEIGHT / 2 - 8})` });
    toggle.dataset.toggle = "";
    toggle.append(
      make("rect", { width: 16, height: 16, rx: 4 }),
      make("path", { d: box.expanded ? "M4 8H12" : "M4 8H12M8 4V12" }),
    );
    parts.push(toggle);
    left += 20;
  }
  if (box.expanded) {
    const head = make("text", { class: "title", x: left, y: 20 }, box.title);
    parts.push(head);
    if (box.times > 1) {
      parts.push(stepper(box, width));
    } else if (box.subtitle) {
      parts.push(make("text", { class: "subtitle end", x: width - PAD, y: 19 }, box.subtitle));
    }
  } else {
    const centred = !box.expandable;
    parts.push(
      make("text", { class: centred ? "title centre" : "title", x: centred ? width / 2 : left, y: 20 }, box.title),
    );
    if (box.times > 1) parts.push(make("text", { class: "times end", x: width - PAD, y: 20 }, `×${box.times}`));
    let y = HEADER_HEIGHT;
    if (box.subtitle) {
      parts.push(
        make(
          "text",
          { class: centred ? "subtitle centre" : "subtitle", x: centred ? width / 2 : PAD, y: y + 7 },
          box.subtitle,
        ),
      );
      y += 16;
    }
    for (const chip of box.chips) {
      const group = make("g", { class: `chip ${chip.kind}`, transform: `translate(${PAD - 4} ${y})` });
      if (chip.body) group.dataset.body = chip.body;
      group.append(
        make("rect", { width: width - 2 * PAD + 8, height: CHIP_HEIGHT - 2, rx: 3 }),
        make("text", { x: (width - 2 * PAD + 8) / 2, y: 11 }, chip.text),
      );
      parts.push(group);
      y += CHIP_HEIGHT;
    }
  }
  // What was cut is told where the pointer rests.
  const { label, className } = box.node;
  const whole = className ? `${label}: ${className}` : label;
  if (!box.title.includes(label) || className) parts.unshift(make("title", {}, whole));
  // Blanks keep the texts apart for whoever reads them in one go.
  element.replaceChildren(...parts.flatMap((part) => [part, " "]));
  describe(element, box);
}

function describe(element: SVGGElement, box: Box): void {
  element.setAttribute("aria-label", spoken(box));
  element.setAttribute("aria-level", String(box.depth + 1));
  if (box.expandable) element.setAttribute("aria-expanded", String(box.expanded));
}

function stepper(box: Box, width: number): SVGGElement {
  const group = make("g", { class: "stepper", transform: `translate(${width - PAD - STEPPER_WIDTH - 14} 7)` });
  const at = (box.node.fold?.instance ?? 0) + 1;
  const middle = (STEPPER_WIDTH + 14) / 2;
  for (const [by, x, path] of [
    [-1, 0, "M9 4L5 8L9 12"],
    [1, STEPPER_WIDTH, "M5 4L9 8L5 12"],
  ] as const) {
    const button = make("g", { class: "step", transform: `translate(${x} 0)` });
    button.dataset.step = String(by);
    button.append(make("rect", { width: 14, height: 16, rx: 4 }), make("path", { d: path }));
    group.append(button);
  }
  group.append(make("text", { class: "times centre", x: middle, y: 12 }, `${at}/${box.times}`));
  return group;
}

/** What a screen reader says of a box: what is written in it, since people say what they see, then what it is. */
export function spoken(box: Box): string {
  const node = box.node;
  const fold = node.fold;
  const times = fold && (box.expanded ? `${(fold.instance ?? 0) + 1}/${fold.count}` : `×${fold.count}`);
  const subtitle = box.expanded && fold ? "" : box.subtitle;
  const written = [box.title, times, subtitle, ...box.chips.map((chip) => chip.text)].filter(Boolean).join(" ");
  const [result] = node.outputs ?? [];
  const parts = [written, box.kind === "scope" ? (node.scopeKind ?? "scope") : box.kind];
  if (result) parts.push(`gives ${longTypeText(result)}`);
  return parts.join(", ");
}
