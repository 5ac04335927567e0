import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HostLost } from "../src/host";
import { editorHost, type PanelCommand, type ToPanel } from "../src/host/editor";

let sent: unknown[];
let receive: (message: ToPanel) => void;
let state: unknown;

beforeEach(() => {
  sent = [];
  state = undefined;
  vi.stubGlobal("window", {
    addEventListener: (_: string, listener: (event: { data: ToPanel }) => void) => {
      receive = (data) => listener({ data });
    },
  });
  vi.stubGlobal("acquireVsCodeApi", () => ({
    postMessage: (message: unknown) => sent.push(message),
    getState: () => state,
    setState: (next: unknown) => {
      state = next;
    },
  }));
});
afterEach(() => vi.unstubAllGlobals());

function panel() {
  const host = editorHost();
  if (!host) throw new Error("no host");
  return host;
}

test("a page in a browser has no editor around it", () => {
  vi.stubGlobal("acquireVsCodeApi", undefined);
  expect(editorHost()).toBeUndefined();
});

test("it says that it is ready, and its requests wait for the server", async () => {
  const host = panel();
  expect(sent).toEqual([{ ready: true }]);
  const answer = host.request("tvls/trust/get", { folder: "f" });
  expect(sent).toHaveLength(1);
  receive({ status: "connected", reason: "" });
  expect(sent[1]).toEqual({ rpc: { id: 1, method: "tvls/trust/get", params: { folder: "f" } } });
  receive({ rpc: { id: 1, result: { folder: "f", trusted: true } } });
  expect(await answer).toEqual({ folder: "f", trusted: true });
});

test("a server that ends rejects what waits, and says why", async () => {
  const host = panel();
  receive({ status: "connected", reason: "" });
  const answer = host.request("tvls/graph/info", { captureId: "c" }).catch((reason: unknown) => reason);
  receive({ status: "disconnected", reason: "The server ended." });
  expect(await answer).toBeInstanceOf(HostLost);
  expect([host.status, host.reason]).toEqual(["disconnected", "The server ended."]);
  receive({ status: "connected", reason: "" });
  expect(host.status).toBe("connected");
});

test("commands, what is remembered and files go through the editor", async () => {
  state = { open: { profile: "p" }, expanded: { "": ["a"] }, instances: {}, noise: {}, overlay: "none" };
  const { editor } = panel();
  expect(editor.remembered?.expanded).toEqual({ "": ["a"] });
  const commands: PanelCommand[] = [];
  editor.onCommand((command) => commands.push(command));
  receive({ command: { do: "export", kind: "svg" } });
  expect(commands).toEqual([{ do: "export", kind: "svg" }]);
  editor.remember({ open: { profile: "q" }, expanded: {}, instances: {}, noise: {}, overlay: "none" });
  expect(state).toMatchObject({ open: { profile: "q" } });
  await editor.save(new Blob(["<svg/>"]), "net.svg");
  expect(sent[1]).toMatchObject({ save: { name: "net.svg" } });
  expect(new TextDecoder().decode((sent[1] as { save: { data: ArrayBuffer } }).save.data)).toBe("<svg/>");
});
