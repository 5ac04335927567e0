import { expect, test, vi } from "vitest";
import type { Message } from "../../canvas/src/host/rpc";
import type { Connection } from "../src/connection";
import { METHOD_NOT_FOUND, REQUEST_CANCELLED, Relay, type RelayHost } from "../src/relay";
import { CancellationTokenSource } from "./vscode";

interface Asked {
  method: string;
  params: Record<string, unknown>;
  token: { isCancellationRequested: boolean } | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

function setUp(own: RelayHost["answer"] = () => undefined) {
  const asked: Asked[] = [];
  const sent: Message[] = [];
  const progress = new Map<string, (value: unknown) => void>();
  const connection = {
    running: true,
    request: (method: string, params: Record<string, unknown>, token: Asked["token"]) =>
      new Promise((resolve, reject) => asked.push({ method, params, token, resolve, reject })),
    onProgress: (token: string, listener: (value: unknown) => void) => {
      progress.set(token, listener);
      return { dispose: () => progress.delete(token) };
    },
  };
  const report = vi.fn();
  const failed = vi.fn();
  let cancel = () => {};
  const relay = new Relay({
    connection: () => connection as unknown as Connection,
    newCancel: () => new CancellationTokenSource() as never,
    send: (message) => sent.push(message),
    answer: own,
    opening: (_params, stop) => {
      cancel = stop;
      return { report };
    },
    failed,
  });
  return { relay, asked, sent, progress, connection, report, failed, cancelFromNotice: () => cancel() };
}

const settled = () => new Promise((done) => setTimeout(done, 0));

test("a request goes to the server and its answer to the panel", async () => {
  const { relay, asked, sent } = setUp();
  relay.receive({ id: 7, method: "tvls/graph/info", params: { captureId: "c" } });
  expect(asked[0]).toMatchObject({ method: "tvls/graph/info", params: { captureId: "c" } });
  asked[0]?.resolve({ captureId: "c" });
  await settled();
  expect(sent).toEqual([{ id: 7, result: { captureId: "c" } }]);
});

test("what a panel may not ask is refused and never sent", async () => {
  const { relay, asked, sent } = setUp();
  for (const method of ["tvls/trust/grant", "tvls/environment/install", "workspace/executeCommand"]) {
    relay.receive({ id: 1, method, params: {} });
  }
  await settled();
  expect(asked).toEqual([]);
  expect(sent.map(({ error }) => error?.code)).toEqual([METHOD_NOT_FOUND, METHOD_NOT_FOUND, METHOD_NOT_FOUND]);
});

test("errors of the server reach the panel whole", async () => {
  const { relay, asked, sent, failed } = setUp();
  relay.receive({ id: 1, method: "tvls/graph/open", params: { profile: "p" } });
  const data = { kind: "traceFailed", nextStep: "Correct it." };
  asked[0]?.reject(Object.assign(new Error("it broke"), { code: -33007, data }));
  await settled();
  expect(sent).toEqual([{ id: 1, error: { code: -33007, message: "it broke", data } }]);
  expect(failed).toHaveBeenCalledWith({ profile: "p" }, { code: -33007, message: "it broke", data });
});

test("progress of two panels with equal tokens does not mix", async () => {
  const one = setUp();
  const two = setUp();
  for (const { relay } of [one, two]) {
    relay.receive({ id: 1, method: "tvls/graph/open", params: { profile: "p", workDoneToken: "canvas-1" } });
  }
  const [first, second] = [one, two].map(({ asked }) => asked[0]?.params.workDoneToken as string);
  expect(first).not.toBe(second);
  one.progress.get(first ?? "")?.({ kind: "report", message: "import" });
  expect(one.sent).toEqual([
    { method: "$/progress", params: { token: "canvas-1", value: { kind: "report", message: "import" } } },
  ]);
  expect(one.report).toHaveBeenCalledWith("import");
  expect(two.sent).toEqual([]);
  one.asked[0]?.resolve({ capture: { captureId: "c" } });
  await settled();
  expect(one.progress.size).toBe(0);
});

test.each(["panel", "notice"] as const)("a trace is cancelled from the %s, and that is no failure", async (from) => {
  const { relay, asked, sent, failed, cancelFromNotice } = setUp();
  relay.receive({ id: 3, method: "tvls/graph/open", params: { profile: "p" } });
  if (from === "panel") relay.receive({ method: "$/cancelRequest", params: { id: 3 } });
  else cancelFromNotice();
  expect(asked[0]?.token?.isCancellationRequested).toBe(true);
  asked[0]?.reject(Object.assign(new Error("cancelled"), { code: REQUEST_CANCELLED }));
  await settled();
  expect(sent[0]?.error?.code).toBe(REQUEST_CANCELLED);
  expect(failed).not.toHaveBeenCalled();
});

test("a panel that is closed ends its requests", () => {
  const { relay, asked } = setUp();
  relay.receive({ id: 1, method: "tvls/graph/open", params: { profile: "p" } });
  relay.dispose();
  expect(asked[0]?.token?.isCancellationRequested).toBe(true);
});

test("when the server ends, nothing is answered: the panel has been told", async () => {
  const { relay, asked, sent, connection, failed } = setUp();
  relay.receive({ id: 1, method: "tvls/graph/open", params: { profile: "p" } });
  connection.running = false;
  asked[0]?.reject(new Error("connection closed"));
  await settled();
  expect(sent).toEqual([]);
  expect(failed).not.toHaveBeenCalled();
});

test("what the extension answers itself is not sent to the server", async () => {
  const { relay, asked, sent } = setUp((method) =>
    method === "tvls/canvas/attach" ? Promise.resolve({ open: { profile: "p" } }) : undefined,
  );
  relay.receive({ id: 1, method: "tvls/canvas/attach", params: { page: "" } });
  await settled();
  expect(asked).toEqual([]);
  expect(sent).toEqual([{ id: 1, result: { open: { profile: "p" } } }]);
});
