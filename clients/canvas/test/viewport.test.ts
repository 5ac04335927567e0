import { expect, test } from "vitest";
import { curve } from "../src/render/curve";
import { firstLook, fitAll, LEGIBLE_ZOOM, reveal, seen, zoomAt } from "../src/render/viewport";

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

test("revealing moves no farther than needed", () => {
  const view = { x: 0, y: 0, k: 1 };
  expect(reveal(view, { x: 300, y: 300, width: 50, height: 20 }, screen)).toEqual(view);
  const moved = reveal(view, { x: 2000, y: 300, width: 50, height: 20 }, screen);
  expect(moved.y).toBe(0);
  expect(2050 + moved.x).toBeLessThanOrEqual(screen.width);
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
