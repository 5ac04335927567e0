// The daemon as host, over the WebSocket that it serves beside the page.
import { type Host, HostLost, type HostStatus, type Progress, RequestError } from "../host";
import type { ErrorData, Notifications, Requests } from "../protocol";

const FIRST_RETRY = 250;
const LAST_RETRY = 5000;

interface Waiting {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
  message: string;
}

interface Message {
  id?: number | string | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: ErrorData };
}

export interface WebSocketHostOptions {
  /** Default: `/rpc` of the page's own origin. */
  url?: string;
  /** Whether the daemon still knows this browser; asked after a connection failed. Rejects where nothing answers. */
  admitted?: () => Promise<boolean>;
}

/** What `tvls/canvas/attach` takes: the last part of the page's address. */
export function pageId(): string {
  return location.pathname.split("/").at(-1) ?? "";
}

/** Connects at once, and again whenever the connection is lost. */
export class WebSocketHost implements Host {
  status: HostStatus = "connecting";
  reason = "";
  private socket: WebSocket | undefined;
  private lastId = 0;
  private retry = FIRST_RETRY;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private readonly statusListeners = new Set<(status: HostStatus) => void>();
  private readonly listeners = new Map<string, Set<(params: never) => void>>();
  private readonly progress = new Map<string, Set<(report: Progress) => void>>();
  private readonly url: string;
  private readonly admitted: () => Promise<boolean>;

  constructor(options: WebSocketHostOptions = {}) {
    if (options.url === undefined && location.search) {
      history.replaceState(null, "", location.pathname); // the secret in the address has done its work
    }
    this.url = options.url ?? `${location.origin.replace(/^http/, "ws")}/rpc`;
    this.admitted = options.admitted ?? (async () => (await fetch("/admitted", { cache: "no-store" })).status !== 403);
    this.connect();
  }

  onStatus(listener: (status: HostStatus) => void): () => void {
    this.statusListeners.add(listener);
    return () => this.statusListeners.delete(listener);
  }

  onNotification<N extends keyof Notifications>(name: N, listener: (params: Notifications[N]) => void): () => void {
    return added(this.listeners, name, listener as (params: never) => void);
  }

  onProgress(token: string, listener: (report: Progress) => void): () => void {
    return added(this.progress, token, listener);
  }

  request<M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    signal?: AbortSignal,
  ): Promise<Requests[M]["result"]> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      if (this.status === "disconnected" || this.status === "refused") {
        reject(new HostLost(this.reason));
        return;
      }
      this.lastId += 1;
      const id = this.lastId;
      const abort = () => {
        // The answer may still come; nobody waits for it any more.
        if (this.waiting.delete(id)) {
          if (this.status === "connected") this.send({ method: "$/cancelRequest", params: { id } });
          reject(signal?.reason);
        }
      };
      const done = () => signal?.removeEventListener("abort", abort);
      const message = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      this.waiting.set(id, {
        resolve: (result) => {
          done();
          resolve(result as Requests[M]["result"]);
        },
        reject: (reason) => {
          done();
          reject(reason);
        },
        message,
      });
      signal?.addEventListener("abort", abort);
      if (this.status === "connected") this.socket?.send(message);
    });
  }

  /** Tries to connect now instead of after the pause. */
  reconnect(): void {
    if (this.status === "disconnected" || this.status === "refused") this.connect();
  }

  private connect(): void {
    clearTimeout(this.timer);
    if (this.status !== "connecting") this.become("connecting", "");
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => {
      this.retry = FIRST_RETRY;
      this.become("connected", "");
      for (const { message } of this.waiting.values()) socket.send(message);
    };
    socket.onmessage = (event) => this.receive(JSON.parse(event.data as string) as Message);
    socket.onclose = () => void this.lost();
  }

  private async lost(): Promise<void> {
    this.socket = undefined;
    this.become("disconnected", "The TensorViz server does not answer.");
    const unanswered = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of unanswered) reject(new HostLost(this.reason));
    try {
      if (!(await this.admitted())) {
        this.become("refused", "This page belongs to a server that has ended. Open the graph again from your editor.");
        return;
      }
    } catch {
      // Nothing listens there now; the server may come back.
    }
    if (this.status !== "disconnected") return;
    this.timer = setTimeout(() => this.connect(), this.retry);
    this.retry = Math.min(this.retry * 2, LAST_RETRY);
  }

  private receive(message: Message): void {
    if (message.method === "$/progress") {
      const { token, value } = message.params as { token: string; value: Progress };
      for (const listener of this.progress.get(token) ?? []) listener(value);
    } else if (message.method !== undefined) {
      for (const listener of this.listeners.get(message.method) ?? []) listener(message.params as never);
    } else if (typeof message.id === "number") {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) {
        waiting?.reject(new RequestError(message.error.code, message.error.message, message.error.data));
      } else {
        waiting?.resolve(message.result);
      }
    }
  }

  private send(message: { method: string; params: unknown }): void {
    this.socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  private become(status: HostStatus, reason: string): void {
    this.status = status;
    this.reason = reason;
    for (const listener of [...this.statusListeners]) listener(status);
  }
}

function added<T>(table: Map<string, Set<T>>, key: string, item: T): () => void {
  const items = table.get(key) ?? new Set<T>();
  table.set(key, items.add(item));
  return () => {
    items.delete(item);
    if (items.size === 0 && table.get(key) === items) table.delete(key);
  };
}
