// Where the picture is on the screen: screen = world · k + (x, y). Pure arithmetic.

export interface Viewport {
  x: number;
  y: number;
  k: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Rect extends Size {
  x: number;
  y: number;
}

export const MIN_ZOOM = 0.02;
export const MAX_ZOOM = 3;
/** From here on every text of a box can be read. */
export const READABLE_ZOOM = 0.9;
/** The smallest at which the whole graph is a good first picture. */
export const LEGIBLE_ZOOM = 0.55;
const MARGIN = 24;

export function zoomAt(view: Viewport, x: number, y: number, factor: number): Viewport {
  const k = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, view.k * factor));
  const ratio = k / view.k;
  return { k, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}

/** The whole graph, however small that makes it; never larger than life. */
export function fitAll(content: Size, screen: Size): Viewport {
  const k = fitZoom(content, screen);
  return { k, x: (screen.width - content.width * k) / 2, y: (screen.height - content.height * k) / 2 };
}

function fitZoom(content: Size, screen: Size): number {
  const across = (screen.width - 2 * MARGIN) / Math.max(1, content.width);
  const down = (screen.height - 2 * MARGIN) / Math.max(1, content.height);
  return Math.max(1e-4, Math.min(1, across, down));
}

/** All of it where that can be read, otherwise its beginning: a graph is read from the top. `start`: what comes first. */
export function firstLook(content: Size, screen: Size, start: Rect | undefined): Viewport {
  if (fitZoom(content, screen) >= LEGIBLE_ZOOM) return fitAll(content, screen);
  const across = (screen.width - 2 * MARGIN) / Math.max(1, content.width);
  const k = Math.min(READABLE_ZOOM, Math.max(LEGIBLE_ZOOM, across));
  const middle = content.width * k <= screen.width || !start ? content.width / 2 : start.x + start.width / 2;
  return { k, x: screen.width / 2 - middle * k, y: MARGIN };
}

/** At a readable zoom with `around` in the middle. */
export function readable(around: Rect, screen: Size): Viewport {
  const k = READABLE_ZOOM;
  return {
    k,
    x: screen.width / 2 - (around.x + around.width / 2) * k,
    y: screen.height / 2 - (around.y + Math.min(around.height, screen.height / k) / 2) * k,
  };
}

/** Moved no farther than needed for `box` to be seen; a box larger than the screen shows its beginning. */
export function reveal(view: Viewport, box: Rect, screen: Size): Viewport {
  const k = view.k;
  const along = (position: number, start: number, length: number, room: number): number => {
    const low = MARGIN * 2 - start * k;
    const high = room - MARGIN * 2 - (start + length) * k;
    return high < low ? low : Math.min(high, Math.max(low, position));
  };
  return { k, x: along(view.x, box.x, box.width, screen.width), y: along(view.y, box.y, box.height, screen.height) };
}

/** The part of the world that is on the screen, grown by `margin` of its size on each side. */
export function seen(view: Viewport, screen: Size, margin: number): Rect {
  const width = screen.width / view.k;
  const height = screen.height / view.k;
  return {
    x: -view.x / view.k - width * margin,
    y: -view.y / view.k - height * margin,
    width: width * (1 + 2 * margin),
    height: height * (1 + 2 * margin),
  };
}

export function overlaps(a: Rect, b: Rect): boolean {
  return a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;
}

export function contains(outer: Rect, inner: Rect): boolean {
  return (
    outer.x <= inner.x &&
    outer.y <= inner.y &&
    outer.x + outer.width >= inner.x + inner.width &&
    outer.y + outer.height >= inner.y + inner.height
  );
}
