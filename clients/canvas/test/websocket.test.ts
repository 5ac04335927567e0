import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HostLost, RequestError } from "../src/host";
import { WebSocketHost } from "../src/host/websocket";

class FakeSocket {
  static all: FakeSocket[] = [];
  sent: { id?: number; method: string; params: unknown }[] = [];
  onopen = () => {};
  onclose = () => {};
  onmessage = (_: { data: string }) => {};
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  receive(message: object) {
    this.onmessage({ data: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  }
}

const last = () => FakeSocket.all.at(-1) as FakeSocket;
const view = { captureId: "c" };

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function host(admitted: () => Promise<boolean> = async () => true) {
  return new WebSocketHost({ url: "ws://127.0.0.1:1/rpc", admitted });
}

test("requests wait for the connection and get their own answers", async () => {
  const it = host();
  const first = it.request("tvls/graph/info", view);
  expect(last().sent).toEqual([]);
  last().onopen();
  expect(it.status).toBe("connected");
  const second = it.request("tvls/trust/get", { folder: "f" });
  const [a, b] = last().sent;
  last().receive({ id: b?.id, result: { folder: "f", trusted: true } });
  last().receive({ id: a?.id, error: { code: -33011, message: "gone", data: { kind: "captureGone", nextStep: "x" } } });
  expect(await second).toEqual({ folder: "f", trusted: true });
  const error = await first.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RequestError);
  expect((error as RequestError).data?.kind).toBe("captureGone");
});

test("an aborted request is cancelled at the server", async () => {
  const it = host();
  last().onopen();
  const stop = new AbortController();
  const answer = it.request("tvls/graph/open", { profile: "p" }, stop.signal).catch((reason: unknown) => reason);
  stop.abort("enough");
  expect(await answer).toBe("enough");
  expect(last().sent[1]).toMatchObject({ method: "$/cancelRequest", params: { id: last().sent[0]?.id } });
  last().receive({ id: last().sent[0]?.id, error: { code: -32800, message: "cancelled" } });
});

test("notifications and progress reach those who listen", () => {
  const it = host();
  last().onopen();
  const seen: unknown[] = [];
  const end = it.onNotification("$/tvls/canvas/mark", (params) => seen.push(params));
  it.onProgress("t1", (report) => seen.push(report));
  last().receive({ method: "$/tvls/canvas/mark", params: { captureId: "c", nodes: [], total: 0 } });
  last().receive({ method: "$/progress", params: { token: "t1", value: { kind: "begin", title: "x" } } });
  last().receive({ method: "$/progress", params: { token: "t2", value: { kind: "begin", title: "y" } } });
  end();
  last().receive({ method: "$/tvls/canvas/mark", params: { captureId: "d", nodes: [], total: 0 } });
  expect(seen).toEqual([
    { captureId: "c", nodes: [], total: 0 },
    { kind: "begin", title: "x" },
  ]);
});

test("a lost connection ends what waits, and is made again", async () => {
  const it = host();
  last().onopen();
  const states: string[] = [];
  it.onStatus((status) => states.push(status));
  const answer = it.request("tvls/graph/info", view).catch((reason: unknown) => reason);
  last().onclose();
  expect(await answer).toBeInstanceOf(HostLost);
  await expect(it.request("tvls/graph/info", view)).rejects.toBeInstanceOf(HostLost);
  await vi.advanceTimersByTimeAsync(300);
  expect(FakeSocket.all.length).toBe(2);
  last().onopen();
  expect(states).toEqual(["disconnected", "connecting", "connected"]);
});

test("it tries less and less often, and stops where another server answers", async () => {
  let known: boolean | undefined;
  const it = host(async () => {
    if (known === undefined) throw new TypeError("nothing listens");
    return known;
  });
  for (let attempt = 0; attempt < 10; attempt += 1) {
    last().onclose();
    await vi.advanceTimersByTimeAsync(5000);
    expect(it.status).toBe("connecting");
  }
  known = false;
  last().onclose();
  await vi.advanceTimersByTimeAsync(60000);
  expect(it.status).toBe("refused");
  expect(it.reason).toContain("Open the graph again");
});
