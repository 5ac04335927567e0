import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index.js";
import { faults, upwards } from "./checks.js";
import { nested } from "./graphs.js";

describe("a layout of nested groups", () => {
  for (const count of [1, 2, 5, 20, 60, 200, 500]) {
    it(`keeps boxes apart and edges outside them: ${count} boxes`, () => {
      for (let seed = 1; seed <= 8; seed++) {
        const graph = nested(count, seed, { labels: seed % 2 === 0 });
        const result = layout(graph.nodes, graph.edges);
        expect(faults(graph, result), `seed ${seed}`).toEqual([]);
        expect(upwards(graph, result), `seed ${seed}`).toEqual([]);
      }
    });
  }
});
