import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ErrorCodes } from "../src/protocol";

test("error codes are those of the protocol", () => {
  const schema = JSON.parse(readFileSync(new URL("../../../protocol/schema/methods.json", import.meta.url), "utf8"));
  expect(ErrorCodes).toEqual(schema.errorCodes);
});
