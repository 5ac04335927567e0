import { expect, test } from "vitest";
import { Backoff } from "../src/backoff";

test("it waits longer each time, gives up, and begins anew after running well", () => {
  const backoff = new Backoff();
  expect([0, 1, 2, 3, 4, 5].map((at) => backoff.next(at * 100))).toEqual([250, 500, 1000, 2000, 4000, 8000]);
  expect(backoff.next(600)).toBeUndefined();
  expect(backoff.next(100_000)).toBe(250);
});
