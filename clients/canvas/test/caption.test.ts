// R14: what a picture says of its graph
import { expect, test } from "vitest";
import { captionOf } from "../src/export/caption";
import type * as p from "../src/protocol";

const CAPTURE: p.CaptureInfo = {
  captureId: "sha256:1",
  uri: "file:///home/me/my%20models/net.py",
  name: "Net",
  kind: "flax.linen",
  framework: "jax",
  backend: "jaxpr",
  versions: { jax: "0.6.1", flax: "0.10.6" },
  evidence: "inferred",
  coverage: { scope: "traced_program", status: "complete", reasons: [] },
  profile: "small",
  operations: 3,
  freshness: "stale",
};

test("a picture names its target and says what is known of the graph", () => {
  expect(captionOf(CAPTURE, [], false)).toEqual({
    title: "Net",
    lines: [
      "flax.linen · net.py · profile small · jax 0.6.1 · flax 0.10.6",
      "inferred · coverage complete · stale when exported",
    ],
  });
});

test("a picture of a body claims no run of it, and one of a saved file no freshness", () => {
  const partial = { ...CAPTURE.coverage, status: "partial", reasons: ["opaque_kernel"], counts: { opaque_kernel: 2 } };
  const body = { id: "b", node: "op:scan.0", label: "scan body", role: "body" };
  const { title, lines } = captionOf({ ...CAPTURE, coverage: partial as p.Coverage }, [body], true);
  expect(title).toBe("Net › scan body");
  expect(lines[1]).toBe("inferred · coverage partial: 2 opaque · not reported as executed · from a saved file");
});
