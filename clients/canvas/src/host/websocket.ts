// The daemon as host, over the WebSocket that it serves beside the page.
import { type Message, Rpc } from "./rpc";

const FIRST_RETRY = 250;
const LAST_RETRY = 5000;

export interface WebSocketHostOptions {
  /** Default: beside the folder of the page, which a proxy may have put below a path of its own. */
  url?: string;
  /** Whether the daemon still knows this browser; asked after a connection failed. Rejects where nothing answers. */
  admitted?: () => Promise<boolean>;
}

/** What `tvls/canvas/attach` takes: the last part of the page's address. */
export function pageId(): string {
  return location.pathname.split("/").at(-1) ?? "";
}

/** Connects at once, and again whenever the connection is lost. */
export class WebSocketHost extends Rpc {
  private socket: WebSocket | undefined;
  private retry = FIRST_RETRY;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly url: string;
  private readonly admitted: () => Promise<boolean>;

  constructor(options: WebSocketHostOptions = {}) {
    super((message) => this.socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message })));
    if (options.url === undefined && location.search) {
      history.replaceState(null, "", location.pathname); // the secret in the address has done its work
    }
    this.url = options.url ?? new URL("../rpc", location.href).href.replace(/^http/, "ws");
    this.admitted =
      options.admitted ?? (async () => (await fetch("../admitted", { cache: "no-store" })).status !== 403);
    this.connect();
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
      this.connected();
    };
    socket.onmessage = (event) => this.receive(JSON.parse(event.data as string) as Message);
    socket.onclose = () => void this.closed();
  }

  private async closed(): Promise<void> {
    this.socket = undefined;
    this.lost("The TensorViz server does not answer.");
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
}
