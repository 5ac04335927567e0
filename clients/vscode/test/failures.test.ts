import { expect, test } from "vitest";
import type { ErrorData } from "../src/connection";
import { reportOf } from "../src/failures";

const open = { target: { uri: "file:///net/model.py", name: "MLP" } };

function report(kind: string, more: Partial<ErrorData> = {}, message = "It went wrong.\nIn detail.") {
  return reportOf(open, { code: -33000, message, data: { kind, nextStep: "Do this.", ...more } });
}

test("the form says itself what is missing", () => {
  expect(report("setupRequired")).toBeUndefined();
  expect(report("setupInvalid")).toBeUndefined();
});

test.each([
  ["notTrusted", {}, ["manageTrust"]],
  ["unsavedSource", {}, ["saveAll"]],
  ["environmentInvalid", { requirements: ["jax>=0.6.1"] }, ["install", "selectInterpreter"]],
  ["environmentInvalid", {}, ["selectInterpreter", "showLog"]],
  ["deviceUnavailable", {}, ["editSetup", "selectInterpreter"]],
  ["traceTimeout", {}, ["limits", "again"]],
  ["limitExceeded", {}, ["limits", "again"]],
  ["workerCrashed", {}, ["again", "showLog"]],
  ["somethingNew", {}, ["again", "showLog"]],
] as const)("%s says in one line what happened, what next, and offers it", (kind, more, remedies) => {
  expect(report(kind, more as Partial<ErrorData>)).toEqual({ message: "It went wrong. Do this.", remedies });
});

test("a failed trace shows its line", () => {
  const location = {
    uri: "file:///net/model.py",
    range: { start: { line: 1, character: 0 }, end: { line: 1, character: 4 } },
  };
  const frames = [{ path: "model.py", workspace: true, function: "f", line: 2, location }];
  expect(report("traceFailed", { exception: "TypeError: add got (2,) and (3,)\nmore", frames })).toEqual({
    message: "MLP could not be traced. TypeError: add got (2,) and (3,)",
    remedies: ["showSource", "showLog"],
  });
  expect(report("traceFailed")?.remedies).toEqual(["showLog"]);
});

test("an error that is none of the server's still says something", () => {
  expect(reportOf({ profile: "p" }, { code: -32603, message: "no answer" })).toEqual({
    message: "no answer",
    remedies: ["again", "showLog"],
  });
});
