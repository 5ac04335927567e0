// Where the arrow keys lead: down along data, up against it, left and right among neighbours.
import type { Box as Rect } from "./layout";
import type { Picture } from "./model";

export type Direction = "up" | "down" | "left" | "right";

const centre = (rect: Rect) => ({ x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 });

/** The next box from `from`; the first box of the picture where nothing is selected; undefined at an end. */
export function walk(
  picture: Picture,
  places: ReadonlyMap<string, Rect>,
  from: string | undefined,
  direction: Direction,
): string | undefined {
  const here = from === undefined ? undefined : places.get(from);
  if (from === undefined || !here || !picture.boxes.has(from)) return picture.boxes.keys().next().value;
  if (direction === "up" || direction === "down") {
    return along(picture, places, from, here, direction) ?? nearest(picture, places, from, here, direction);
  }
  return nearest(picture, places, from, here, direction);
}

/** Over an edge: the end that lies most straight on. An opened group leads into its first box, and out of its last. */
function along(
  picture: Picture,
  places: ReadonlyMap<string, Rect>,
  from: string,
  here: Rect,
  direction: "up" | "down",
): string | undefined {
  const ends: string[] = [];
  for (const line of picture.lines.values()) {
    if (direction === "down" && line.source === from) ends.push(line.target);
    if (direction === "up" && line.target === from) ends.push(line.source);
  }
  return closest(ends, places, here);
}

function closest(ids: readonly string[], places: ReadonlyMap<string, Rect>, here: Rect): string | undefined {
  const start = centre(here);
  let best: string | undefined;
  let least = Infinity;
  for (const id of ids) {
    const rect = places.get(id);
    if (!rect) continue;
    const there = centre(rect);
    const cost = Math.abs(there.x - start.x) + Math.abs(there.y - start.y);
    if (cost < least) {
      least = cost;
      best = id;
    }
  }
  return best;
}

/** The nearest box in a direction, what lies straight on before what lies aside. */
function nearest(
  picture: Picture,
  places: ReadonlyMap<string, Rect>,
  from: string,
  here: Rect,
  direction: Direction,
): string | undefined {
  const start = centre(here);
  const inside = from;
  let best: string | undefined;
  let least = Infinity;
  for (const box of picture.boxes.values()) {
    const rect = places.get(box.id);
    if (!rect || box.id === from || holds(picture, box.id, inside)) continue;
    const there = centre(rect);
    const dx = there.x - start.x;
    const dy = there.y - start.y;
    const [forward, aside] =
      direction === "left" ? [-dx, dy] : direction === "right" ? [dx, dy] : direction === "up" ? [-dy, dx] : [dy, dx];
    if (forward <= 0.5) continue;
    const cost = forward + 3 * Math.abs(aside) + (box.parent === picture.boxes.get(from)?.parent ? 0 : 200);
    if (cost < least) {
      least = cost;
      best = box.id;
    }
  }
  return best;
}

/** Whether `outer` is a group around `inner`. */
function holds(picture: Picture, outer: string, inner: string): boolean {
  for (let id = picture.boxes.get(inner)?.parent; id; id = picture.boxes.get(id)?.parent) if (id === outer) return true;
  return false;
}
