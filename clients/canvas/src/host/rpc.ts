// The asking side of JSON-RPC, apart from what carries the messages.
import { type Host, HostLost, type HostStatus, type Progress, RequestError } from "../host";
import type { ErrorData, Notifications, Requests } from "../protocol";

export interface Message {
  id?: number | string | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: ErrorData };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
  message: Message;
}

/** Keeps the requests that wait for an answer, and who listens. Whoever owns it tells it what happens to the connection. */
export class Rpc implements Host {
  status: HostStatus = "connecting";
  reason = "";
  private lastId = 0;
  private readonly waiting = new Map<number, Waiting>();
  private readonly statusListeners = new Set<(status: HostStatus) => void>();
  private readonly listeners = new Map<string, Set<(params: never) => void>>();
  private readonly progress = new Map<string, Set<(report: Progress) => void>>();

  constructor(private readonly send: (message: Message) => void) {}

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
      const message: Message = { id, method, params };
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
      if (this.status === "connected") this.send(message);
    });
  }

  /** Sends what was asked before. */
  connected(): void {
    this.become("connected", "");
    for (const { message } of [...this.waiting.values()]) this.send(message);
  }

  /** Ends what waits. */
  lost(reason: string): void {
    this.become("disconnected", reason);
    const unanswered = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of unanswered) reject(new HostLost(reason));
  }

  become(status: HostStatus, reason: string): void {
    this.status = status;
    this.reason = reason;
    for (const listener of [...this.statusListeners]) listener(status);
  }

  receive(message: Message): void {
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
}

function added<T>(table: Map<string, Set<T>>, key: string, item: T): () => void {
  const items = table.get(key) ?? new Set<T>();
  table.set(key, items.add(item));
  return () => {
    items.delete(item);
    if (items.size === 0 && table.get(key) === items) table.delete(key);
  };
}
