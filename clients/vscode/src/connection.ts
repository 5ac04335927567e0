// What the parts of the extension need of the server, whatever carries the messages.
import type * as vscode from "vscode";
import type { Requests } from "../../canvas/src/protocol";

export interface Connection {
  readonly running: boolean;
  request<M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]["result"]>;
  /** Reports under a token of the caller's, until the answered thing is disposed of. */
  onProgress(token: string, listener: (value: unknown) => void): vscode.Disposable;
}

/** An answer of the server that is an error. `data.kind` tells which; see protocol/SPEC.md. */
export interface ServerError {
  code: number;
  message: string;
  data?: ErrorData;
}

export type ErrorData = import("../../canvas/src/protocol").ErrorData;

export function serverError(error: unknown): ServerError {
  const { code, data } = error as Partial<ServerError>;
  const message = error instanceof Error ? error.message : String(error);
  return { code: typeof code === "number" ? code : -32603, message, ...(data ? { data } : {}) };
}
