import type { Rect } from "./viewport";

export interface Point {
  x: number;
  y: number;
}

const n = (value: number): string => String(Math.round(value * 10) / 10);

/** Vertical stretches stay straight; sloped ones, which layout puts between rows only, leave and arrive vertically. */
export function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${n(first.x)} ${n(first.y)}`;
  let last = first;
  for (const point of rest) {
    if (Math.abs(point.x - last.x) < 0.5 || point.y === last.y) {
      path += `L${n(point.x)} ${n(point.y)}`;
    } else {
      const middle = n((last.y + point.y) / 2);
      path += `C${n(last.x)} ${middle} ${n(point.x)} ${middle} ${n(point.x)} ${n(point.y)}`;
    }
    last = point;
  }
  return path;
}

export function bounds(points: readonly Point[]): Rect {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y } of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}
