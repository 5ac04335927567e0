// What the canvas talks to: the daemon behind a WebSocket, VS Code behind `postMessage`, or data in an exported file.
import type { PanelCommand } from "./host/editor";
import type { ErrorData, Notifications, OpenParams, Requests } from "./protocol";

/** `disconnected`: it tries again by itself. `refused`: it does not, and `Host.reason` says what to do. */
export type HostStatus = "connecting" | "connected" | "disconnected" | "refused";

/** A report of the phase that a trace is in, while `tvls/graph/open` with a `workDoneToken` runs. */
export interface Progress {
  kind: "begin" | "report" | "end";
  title?: string;
  message?: string;
  percentage?: number;
}

export interface Host {
  readonly status: HostStatus;
  /** For people: why the host is not connected. */
  readonly reason: string;
  /** Calls back at every change of `status`; answers a function that ends this. */
  onStatus(listener: (status: HostStatus) => void): () => void;
  /**
   * One request, one answer. Rejects with `RequestError` for an error of the server, with `HostLost` where the
   * connection ended before the answer, and with the signal's reason where `signal` was aborted.
   * Requests made while it connects are sent afterwards.
   */
  request<M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    signal?: AbortSignal,
  ): Promise<Requests[M]["result"]>;
  onNotification<N extends keyof Notifications>(name: N, listener: (params: Notifications[N]) => void): () => void;
  /** Reports for one `workDoneToken`, a string that the caller made up. */
  onProgress(token: string, listener: (report: Progress) => void): () => void;
  /** Set where the page is a panel of an editor, beside the code. */
  readonly editor?: EditorSide;
}

/** What an editor does for its panel, beyond the daemon. */
export interface EditorSide {
  /** What was remembered when the window was closed. */
  readonly remembered: Remembered | undefined;
  remember(state: Remembered): void;
  /** Asks the person where to keep a file. A panel cannot download. */
  save(blob: Blob, name: string): Promise<void>;
  onCommand(listener: (command: PanelCommand) => void): void;
}

/** What a panel needs to look as it did after the window was loaded again; plain data. */
export interface Remembered {
  open: OpenParams;
  /** Body → ids of expanded scopes. */
  expanded: Record<string, string[]>;
  instances: Record<string, number>;
  noise: Record<string, "show" | "dim" | "hide">;
  overlay: string;
  selected?: string;
}

export class RequestError extends Error {
  override name = "RequestError";
  constructor(
    readonly code: number,
    message: string,
    /** What the person can do, for errors of tvls. Its `kind` is a key of `ErrorCodes`. */
    readonly data?: ErrorData,
  ) {
    super(message);
  }
}

export class HostLost extends Error {
  override name = "HostLost";
}
