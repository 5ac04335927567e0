// Passes the requests of one panel on to the server, and the answers back. What a panel may ask is a list.
import type { Message } from "../../canvas/src/host/rpc";
import { ALLOWED_IN_A_PAGE, type OpenParams, type Requests } from "../../canvas/src/protocol";
import type { Connection } from "./connection";
import { type ServerError, serverError } from "./connection";

export const METHOD_NOT_FOUND = -32601;
export const REQUEST_CANCELLED = -32800;

/** As a `CancellationTokenSource` of VS Code. */
export interface Cancel {
  readonly token: import("vscode").CancellationToken;
  cancel(): void;
  dispose(): void;
}

export interface RelayHost {
  connection(): Connection;
  newCancel(): Cancel;
  send(message: Message): void;
  /** Answers a request that the extension answers itself; undefined where it is the server's. */
  answer(method: string, params: unknown): Promise<unknown> | undefined;
  /** A trace began: shown where VS Code shows what takes long. `done` ends with it. */
  opening(params: OpenParams, cancel: () => void, done: Promise<Requests["tvls/graph/open"]["result"]>): Opening;
  /** Shows an error where the person asked for the graph. */
  failed(params: OpenParams, error: ServerError): void;
}

export interface Opening {
  report(message: string): void;
}

let tokens = 0;

export class Relay {
  private readonly running = new Map<number, Cancel>();

  constructor(private readonly host: RelayHost) {}

  receive(message: Message): void {
    if (message.method === "$/cancelRequest") {
      this.running.get((message.params as { id: number }).id)?.cancel();
    } else if (typeof message.id === "number" && message.method !== undefined) {
      void this.answer(message.id, message.method, message.params);
    }
  }

  /** Ends everything that still runs for the panel. */
  dispose(): void {
    for (const cancel of this.running.values()) cancel.cancel();
  }

  private async answer(id: number, method: string, params: unknown): Promise<void> {
    const connection = this.host.connection();
    try {
      const own = this.host.answer(method, params);
      if (own) {
        this.host.send({ id, result: await own });
      } else if (!ALLOWED_IN_A_PAGE.includes(method)) {
        throw { code: METHOD_NOT_FOUND, message: `A graph cannot ask for ${method}.` };
      } else {
        this.host.send({ id, result: await this.ask(connection, id, method as keyof Requests, params) });
      }
    } catch (error) {
      // Where the server ended, the panel has given up the request already.
      if (connection.running) this.host.send({ id, error: serverError(error) });
    }
  }

  private async ask(connection: Connection, id: number, method: keyof Requests, params: unknown): Promise<unknown> {
    const cancel = this.host.newCancel();
    this.running.set(id, cancel);
    try {
      if (method === "tvls/graph/open") return await this.open(connection, params as OpenParams, cancel);
      return await connection.request(method, params as never, cancel.token);
    } finally {
      this.running.delete(id);
      cancel.dispose();
    }
  }

  private async open(connection: Connection, params: OpenParams, cancel: Cancel) {
    const { workDoneToken: panelToken, ...rest } = params;
    tokens += 1;
    const workDoneToken = `tvls-panel-${tokens}`; // panels do not know of each other: theirs may be equal
    const done = connection.request("tvls/graph/open", { ...rest, workDoneToken }, cancel.token);
    const opening = this.host.opening(rest, () => cancel.cancel(), done);
    const off = connection.onProgress(workDoneToken, (value) => {
      if (panelToken !== undefined) this.host.send({ method: "$/progress", params: { token: panelToken, value } });
      const { message } = value as { message?: string };
      if (message) opening.report(message);
    });
    try {
      return await done;
    } catch (error) {
      const refused = serverError(error);
      if (connection.running && refused.code !== REQUEST_CANCELLED) this.host.failed(rest, refused);
      throw error;
    } finally {
      off.dispose();
    }
  }
}
