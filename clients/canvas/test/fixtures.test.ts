import { readdirSync, readFileSync } from "node:fs";
import Ajv from "ajv/dist/2020";
import { describe, expect, test } from "vitest";
import type { Requests } from "../src/protocol";

/** The fixtures that the tests of the server read, against the schema that clients get. */
const root = new URL("../../../protocol/", import.meta.url);
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), "utf8"));

const schemas = read("schema/methods.json");
const ajv = new Ajv({ strict: false });
ajv.addSchema(read("schema/types.json"), "types.json");
const folders = readdirSync(new URL("fixtures/", root));

test("every method has fixtures", () => {
  expect(folders.map((folder) => folder.replaceAll(".", "/"))).toEqual(Object.keys(schemas.requests).sort());
});

describe.each(folders)("%s", (folder) => {
  const method = schemas.requests[folder.replaceAll(".", "/")];
  const names = readdirSync(new URL(`fixtures/${folder}/`, root));

  test.each(names)("%s", (name) => {
    const [side, expected] = name.split("-") as ["params" | "result", "valid" | "invalid"];
    const fits = ajv.validate(method[side], read(`fixtures/${folder}/${name}`));
    expect(fits, ajv.errorsText()).toBe(expected === "valid");
  });
});

test("a view has the fields that the types promise", () => {
  const view: Requests["tvls/graph/view"]["result"] = read("fixtures/tvls.graph.view/result-valid-example.json");
  const labels = new Map(view.nodes.map((node) => [node.id, node.label]));
  expect(view.edges.map((edge) => [labels.get(edge.source), labels.get(edge.target)])).toEqual([
    ["x", "dot_general"],
    ["dot_general", "result"],
  ]);
  expect([view.total, view.freshness, view.evidence]).toEqual([4, "fresh", "inferred"]);
});
