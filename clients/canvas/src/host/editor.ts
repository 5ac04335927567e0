// An extension of VS Code as host: it passes requests on to the daemon that it has started.
import type { EditorSide, Remembered } from "../host";
import { type Message, Rpc } from "./rpc";

interface EditorApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** What the extension sends: answers and notifications of the server, whether there is one, and commands. */
export type ToPanel =
  | { rpc: Message }
  | { status: "connecting" | "connected" | "disconnected" | "refused"; reason: string }
  | { command: PanelCommand };

/** What the page sends. */
export type FromPanel = { rpc: Message } | { ready: true } | { save: { name: string; data: ArrayBuffer } };

export type PanelCommand =
  | { do: "refresh" | "editSetup" | "compare" }
  | { do: "export"; kind: "svg" | "png" | "json" | "html" };

/** The host in a panel of VS Code; undefined in a browser. */
export function editorHost(): (Rpc & { editor: EditorSide }) | undefined {
  const scope = globalThis as { acquireVsCodeApi?: () => EditorApi };
  const api = scope.acquireVsCodeApi?.();
  if (!api) return undefined;
  const post = (message: FromPanel) => api.postMessage(message);
  const rpc = new Rpc((message) => post({ rpc: message }));
  const commands = new Set<(command: PanelCommand) => void>();
  window.addEventListener("message", (event: MessageEvent<ToPanel>) => {
    const message = event.data;
    if ("rpc" in message) rpc.receive(message.rpc);
    else if ("command" in message) for (const listener of commands) listener(message.command);
    else if (message.status === "connected") rpc.connected();
    else if (message.status === "disconnected") rpc.lost(message.reason);
    else rpc.become(message.status, message.reason);
  });
  const editor: EditorSide = {
    remembered: (api.getState() ?? undefined) as Remembered | undefined,
    remember: (state) => api.setState(state),
    save: async (blob, name) => post({ save: { name, data: await blob.arrayBuffer() } }),
    onCommand: (listener) => commands.add(listener),
  };
  post({ ready: true });
  return Object.assign(rpc, { editor });
}
