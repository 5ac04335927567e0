import { expect, test } from "vitest";
import { curve } from "../src/render/curve";
import { aside, firstLook, fitAll, LEGIBLE_ZOOM, reveal, seen, zoomAt } from "../src/render/viewport";

const screen = { width: 1000, height: 600 };

test("zooming keeps the point under the pointer", () => {
  const before = { x: 37, y: -12, k: 0.8 };
  const after = zoomAt(before, 200, 300, 1.7);
  const world = (view: typeof before) => [(200 - view.x) / view.k, (300 - view.y) / view.k];
  expect(world(after)[0]).toBeCloseTo(world(before)[0] as number);
  expect(world(after)[1]).toBeCloseTo(world(before)[1] as number);
});

test("fit shows everything, below the smallest zoom of the wheel if it must", () => {
  const content = { width: 400_000, height: 90_000 };
  const view = fitAll(content, screen);
  expect(view.k).toBeLessThan(zoomAt(view, 0, 0, 1e-9).k);
  expect(content.width * view.k).toBeLessThanOrEqual(screen.width);
  expect(fitAll({ width: 10, height: 10 }, screen).k).toBe(1);
});

test("the first look is all of it where that can be read, else its beginning", () => {
  expect(firstLook({ width: 900, height: 500 }, screen, undefined)).toEqual(
    fitAll({ width: 900, height: 500 }, screen),
  );
  const long = firstLook({ width: 400, height: 20_000 }, screen, undefined);
  expect(long.k).toBeGreaterThanOrEqual(LEGIBLE_ZOOM);
  expect(long.y).toBeGreaterThan(0);
});

test("what covers the right of the screen covers nothing of a graph that fits", () => {
  const free = { width: 660, height: 600 };
  for (const content of [
    { width: 300, height: 200 },
    { width: 640, height: 300 },
    { width: 900, height: 500 },
    { width: 300, height: 900 },
  ]) {
    for (const view of [fitAll(content, screen, free), firstLook(content, screen, undefined, free)]) {
      expect(view.x).toBeGreaterThanOrEqual(0);
      expect(view.x + content.width * view.k).toBeLessThanOrEqual(free.width);
    }
  }
  // What is narrow stands in the middle all the same.
  expect(fitAll({ width: 200, height: 200 }, screen, free).x).toBe(400);
});

test("a wide graph begins with its main part, wherever that is", () => {
  const content = { width: 9000, height: 5000 };
  for (const main of [
    { x: 0, y: 0, width: 200, height: 60 },
    { x: 4000, y: 2500, width: 200, height: 60 },
    { x: 8800, y: 4940, width: 200, height: 60 },
  ]) {
    const view = firstLook(content, screen, main);
    expect(view.k).toBeGreaterThanOrEqual(LEGIBLE_ZOOM);
    const part = seen(view, screen, 0);
    expect(main.x).toBeGreaterThanOrEqual(part.x);
    expect(main.y).toBeGreaterThanOrEqual(part.y);
    expect(main.x + main.width).toBeLessThanOrEqual(part.x + part.width);
    expect(main.y + main.height).toBeLessThanOrEqual(part.y + part.height);
  }
});

test("revealing moves no farther than needed", () => {
  const view = { x: 0, y: 0, k: 1 };
  expect(reveal(view, { x: 300, y: 300, width: 50, height: 20 }, screen)).toEqual(view);
  const moved = reveal(view, { x: 2000, y: 300, width: 50, height: 20 }, screen);
  expect(moved.y).toBe(0);
  expect(2050 + moved.x).toBeLessThanOrEqual(screen.width);
});

test("what was opened steps aside from what covers the right, as far as it fits", () => {
  const free = { width: 660, height: 600 };
  const content = { width: 600, height: 4000 };
  const view = { x: 200, y: -300, k: 1 };
  const opened = { x: 100, y: 320, width: 450, height: 900 };
  expect(aside(view, opened, content, free)).toEqual({ x: 36, y: -300, k: 1 });
  expect(aside({ ...view, x: 30 }, opened, content, free)).toEqual({ ...view, x: 30 });
  // What is wider than the room stays under the pointer.
  expect(aside(view, { ...opened, width: 900 }, { ...content, width: 2000 }, free)).toEqual(view);
});

test("what is seen is the screen in the world's terms", () => {
  expect(seen({ x: -100, y: -50, k: 0.5 }, screen, 0)).toEqual({ x: 200, y: 100, width: 2000, height: 1200 });
});

test("straight lines stay straight, sloped ones leave and arrive vertically", () => {
  expect(
    curve([
      { x: 1, y: 0 },
      { x: 1, y: 40 },
    ]),
  ).toBe("M1 0L1 40");
  expect(
    curve([
      { x: 0, y: 0 },
      { x: 10, y: 20 },
    ]),
  ).toBe("M0 0C0 10 10 10 10 20");
});
