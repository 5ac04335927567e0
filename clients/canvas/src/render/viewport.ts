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

/** The whole graph, however small that makes it; never larger than life. `free`: what nothing covers, from the top left. */
export function fitAll(content: Size, screen: Size, free: Size = screen): Viewport {
  const k = fitZoom(content, free);
  return {
    k,
    x: centred(content.width * k, screen.width, free.width),
    y: centred(content.height * k, screen.height, free.height),
  };
}

/** In the middle of the screen, or as near to it as what covers the end of the screen allows. */
function centred(length: number, screen: number, free: number): number {
  return Math.max(Math.min(MARGIN, (free - length) / 2), Math.min((screen - length) / 2, free - MARGIN - length));
}

function fitZoom(content: Size, free: Size): number {
  const across = (free.width - 2 * MARGIN) / Math.max(1, content.width);
  const down = (free.height - 2 * MARGIN) / Math.max(1, content.height);
  return Math.max(1e-4, Math.min(1, across, down));
}

/**
 * All of it where that can be read, otherwise its beginning: a graph is read from the top. One that is too wide for that
 * begins with `main`, the part that tells most.
 */
export function firstLook(content: Size, screen: Size, main: Rect | undefined, free: Size = screen): Viewport {
  if (fitZoom(content, free) >= LEGIBLE_ZOOM) return fitAll(content, screen, free);
  const across = (free.width - 2 * MARGIN) / Math.max(1, content.width);
  const k = Math.min(READABLE_ZOOM, Math.max(LEGIBLE_ZOOM, across));
  if (across >= k || !main) return { k, x: centred(content.width * k, screen.width, free.width), y: MARGIN };
  const x = free.width / 2 - (main.x + main.width / 2) * k;
  const below = MARGIN + (main.y + main.height) * k > free.height - MARGIN;
  return {
    k,
    x: Math.min(MARGIN, Math.max(free.width - MARGIN - content.width * k, x)),
    y: below ? free.height / 4 - main.y * k : MARGIN,
  };
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
    const low = MARGIN - start * k;
    const high = room - MARGIN - (start + length) * k;
    return high < low ? low : Math.min(high, Math.max(low, position));
  };
  return { k, x: along(view.x, box.x, box.width, screen.width), y: along(view.y, box.y, box.height, screen.height) };
}

/** Moved sidewards, no farther than needed for `box`, and then the whole `content`, to be in the free width, if they fit. */
export function aside(view: Viewport, box: Rect, content: Size, free: Size): Viewport {
  const into = (position: number, start: number, length: number): number => {
    const low = MARGIN - start * view.k;
    const high = free.width - MARGIN - (start + length) * view.k;
    return high < low ? position : Math.min(high, Math.max(low, position));
  };
  return { ...view, x: into(into(view.x, box.x, box.width), 0, content.width) };
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
