// The panels with graphs: one for each target, beside the code.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Remembered } from "../../canvas/src/host";
import type { FromPanel, PanelCommand, ToPanel } from "../../canvas/src/host/editor";
import type {
  CanvasState,
  CaptureInfo,
  Location,
  MarkedNodes,
  OpenParams,
  ShowSourceResult,
} from "../../canvas/src/protocol";
import type { ServerError } from "./connection";
import { type Opening, Relay } from "./relay";
import type { Server } from "./server";
import { NOT_TRUSTED } from "./trust";

export const VIEW_TYPE = "tvls.graph";
/** Traces that take longer are shown in the notification area. */
const NOTICE_MS = 500;
const CURSOR_PAUSE_MS = 150;
const SOURCES = /\.(pyi?|toml)$/;

export type Failed = (params: OpenParams, error: ServerError) => void;

export class Panels implements vscode.Disposable {
  private readonly panels = new Map<string, GraphPanel>();
  private readonly changed = new vscode.EventEmitter<void>();
  /** A panel was opened, closed, or has become the active one. */
  readonly onChange = this.changed.event;
  private readonly disposables: vscode.Disposable[] = [];
  private cursorTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly server: Server,
    private readonly failed: Failed,
  ) {
    this.disposables.push(
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: async (panel, state: Remembered | undefined) => {
          if (state?.open) this.adopt(panel, state.open);
          else panel.dispose(); // closed before it showed anything
        },
      }),
      server.onState(() => this.each((panel) => panel.tellStatus())),
      server.onCapture((info) => this.each((panel) => panel.tellCapture(info))),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.each((panel) => panel.show())),
      vscode.workspace.onDidRenameFiles(({ files }) => this.renamed(files)),
    );
  }

  /** Shows a target in its panel, or in a new one beside the code. The code keeps the focus. */
  open(params: OpenParams, refresh = false): void {
    const known = this.panels.get(keyOf(params));
    if (known) {
      known.asked(params);
      known.panel.reveal(undefined, true);
      if (refresh) known.command({ do: "refresh" });
      else known.show();
    } else this.create(params, true).asked(params);
  }

  /** Shows the setup form of a target: in the panel that has its graph, else in a new one, which traces nothing yet. */
  editSetup(params: OpenParams): void {
    const known = this.panels.get(keyOf(params)) ?? [...this.panels.values()].find((panel) => panel.shows(params));
    if (known) known.panel.reveal();
    (known ?? this.create(params, false)).command({ do: "editSetup" });
  }

  get active(): GraphPanel | undefined {
    return [...this.panels.values()].find((panel) => panel.panel.active);
  }

  /** The active one, or the only one that can be seen. */
  get current(): GraphPanel | undefined {
    const visible = [...this.panels.values()].filter((panel) => panel.panel.visible);
    return this.active ?? (visible.length === 1 ? visible[0] : undefined);
  }

  get size(): number {
    return this.panels.size;
  }

  /** Marks the nodes of a place in every panel that has a graph of it. The first such panel, where there is one. */
  async mark(uri: vscode.Uri, position: vscode.Position): Promise<GraphPanel | undefined> {
    const marked = await Promise.all([...this.panels.values()].map((panel) => panel.mark(uri, position)));
    return marked.find((panel) => panel !== undefined);
  }

  dispose(): void {
    clearTimeout(this.cursorTimer);
    for (const disposable of this.disposables) disposable.dispose();
    this.each((panel) => panel.panel.dispose());
  }

  /** Panels go along with the files of their targets. */
  private renamed(files: readonly { oldUri: vscode.Uri; newUri: vscode.Uri }[]): void {
    for (const [key, panel] of [...this.panels]) {
      const { target } = panel.params;
      const moved = target && movedTo(target.uri, files);
      if (!moved) continue;
      panel.params = { ...panel.params, target: { ...target, uri: moved } };
      this.panels.delete(key);
      this.panels.set(keyOf(panel.params), panel);
      panel.show();
    }
  }

  private create(params: OpenParams, preserveFocus: boolean): GraphPanel {
    const title = params.target?.name ?? params.profile ?? "Graph";
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus };
    const panel = vscode.window.createWebviewPanel(VIEW_TYPE, title, column, { retainContextWhenHidden: true });
    return this.adopt(panel, params);
  }

  private adopt(panel: vscode.WebviewPanel, params: OpenParams): GraphPanel {
    const key = keyOf(params);
    const graph = new GraphPanel(panel, params, this.extension, this.server, this.failed);
    this.panels.get(key)?.panel.dispose();
    this.panels.set(key, graph);
    panel.onDidDispose(() => {
      graph.dispose();
      const now = keyOf(graph.params);
      if (this.panels.get(now) === graph) this.panels.delete(now);
      this.changed.fire();
    });
    panel.onDidChangeViewState(() => this.changed.fire());
    this.changed.fire();
    return graph;
  }

  private follow(editor: vscode.TextEditor): void {
    if (this.panels.size === 0 || editor.document.languageId !== "python") return;
    clearTimeout(this.cursorTimer);
    this.cursorTimer = setTimeout(() => void this.mark(editor.document.uri, editor.selection.active), CURSOR_PAUSE_MS);
  }

  private each(run: (panel: GraphPanel) => void): void {
    for (const panel of [...this.panels.values()]) run(panel);
  }
}

/** Where a file is after some were renamed, or folders around it; undefined where it stayed. */
function movedTo(uri: string, files: readonly { oldUri: vscode.Uri; newUri: vscode.Uri }[]): string | undefined {
  for (const { oldUri, newUri } of files) {
    const old = oldUri.toString();
    if (uri === old || uri.startsWith(`${old}/`)) return newUri.toString() + uri.slice(old.length);
  }
  return undefined;
}

/** Equal for requests that one panel shows. */
export function keyOf({ target, profile, folder }: OpenParams): string {
  return target ? `${target.uri}#${target.name}` : `${folder ?? ""}#${profile ?? ""}`;
}

export class GraphPanel {
  private capture: CaptureInfo | undefined;
  private error: ServerError | undefined;
  /** The person asked for it, and has not been told yet what came of it. */
  private awaited = false;
  private readonly relay: Relay;
  private readonly disposables: vscode.Disposable[] = [];
  private ready = false;
  /** Commands for the page, until it is loaded. */
  private readonly waiting: PanelCommand[] = [];

  constructor(
    readonly panel: vscode.WebviewPanel,
    public params: OpenParams,
    extension: vscode.Uri,
    private readonly server: Server,
    private readonly failed: Failed,
  ) {
    this.relay = new Relay({
      connection: () => server,
      newCancel: () => new vscode.CancellationTokenSource(),
      send: (rpc) => this.post({ rpc }),
      answer: (method, given) => this.answer(method, given),
      opening: (given, cancel, done) => this.opening(given, cancel, done),
      failed: (given, error) => this.openFailed(given, error),
    });
    panel.iconPath = vscode.Uri.joinPath(extension, "media", "icon.svg");
    const folder = vscode.Uri.joinPath(extension, "dist", "canvas");
    panel.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    this.disposables.push(panel.webview.onDidReceiveMessage((message: FromPanel) => this.receive(message)));
    panel.webview.html = page(panel.webview, folder);
  }

  get captureId(): string | undefined {
    return this.capture?.captureId;
  }

  /** Says that the person asked for this target just now, so that failing is worth a message. */
  asked(params: OpenParams): void {
    this.params = params;
    this.awaited = true;
  }

  /** Traces the target, or takes the fresh capture that is there. */
  show(): void {
    if (!this.ready) return; // it asks itself, once it is loaded
    this.post({ rpc: { method: "$/tvls/canvas/show", params: this.state(undefined) } });
  }

  command(command: PanelCommand): void {
    if (this.ready) this.post({ command });
    else this.waiting.push(command);
  }

  /** Whether its graph is that of a target, whatever it was opened by. */
  shows({ target }: OpenParams): boolean {
    return target !== undefined && this.capture?.uri === target.uri && this.capture.name === target.name;
  }

  tellStatus(): void {
    const { state, reason } = this.server;
    if (state === "running") this.post({ status: "connected", reason: "" });
    else if (state === "starting") this.post({ status: "connecting", reason });
    else if (state === "restarting") this.post({ status: "disconnected", reason });
    else this.post({ status: "refused", reason: `${reason || "The server was stopped."} Use TensorViz: Restart.` });
  }

  tellCapture(info: CaptureInfo): void {
    if (info.captureId !== this.captureId) return;
    this.capture = info;
    if (info.freshness === "fresh") this.error = undefined;
    this.post({ rpc: { method: "$/tvls/captureState", params: info } });
  }

  /** This panel, where it has nodes of the place. */
  async mark(uri: vscode.Uri, position: vscode.Position): Promise<GraphPanel | undefined> {
    const { captureId } = this;
    if (!captureId || !this.server.running) return undefined;
    try {
      const found = await this.server.request("tvls/graph/nodesAt", {
        captureId,
        textDocument: { uri: uri.toString() },
        position: { line: position.line, character: position.character },
      });
      const marks: MarkedNodes = { captureId, nodes: found.nodes, total: found.total };
      this.post({ rpc: { method: "$/tvls/canvas/mark", params: marks } });
      return found.total ? this : undefined;
    } catch {
      return undefined; // the capture is gone: the panel finds out with its next request
    }
  }

  dispose(): void {
    this.relay.dispose();
    for (const disposable of this.disposables) disposable.dispose();
    const { captureId } = this;
    if (captureId && this.server.running) {
      this.server.request("tvls/graph/close", { captureId }).catch(() => {}); // gone is as good as closed
    }
  }

  private post(message: ToPanel): void {
    void this.panel.webview.postMessage(message);
  }

  private receive(message: FromPanel): void {
    if ("rpc" in message) this.relay.receive(message.rpc);
    else if ("save" in message) void save(message.save.name, new Uint8Array(message.save.data));
    else {
      this.ready = true;
      // Before it asks for a graph, which a form that was asked for keeps it from.
      for (const command of this.waiting.splice(0)) this.post({ command });
      this.tellStatus();
    }
  }

  private answer(method: string, params: unknown): Promise<unknown> | undefined {
    if (method === "tvls/canvas/attach") return this.attach();
    if (method === "tvls/canvas/showSource") return showSource((params as { location: Location }).location, this.panel);
    if (method === "tvls/graph/open" && !vscode.workspace.isTrusted) return Promise.reject(NOT_TRUSTED);
    return undefined;
  }

  private async attach(): Promise<CanvasState> {
    if (!vscode.workspace.isTrusted) return this.state(NOT_TRUSTED);
    const { captureId } = this;
    if (captureId) {
      try {
        this.capture = await this.server.request("tvls/graph/info", { captureId });
        return { ...this.state(this.error), capture: this.capture };
      } catch {
        this.capture = undefined; // another server by now: the target is traced again
      }
    }
    return this.state(undefined);
  }

  private state(error: ServerError | undefined): CanvasState {
    return { open: this.params, editor: vscode.env.appName, ...(error ? { error } : {}) };
  }

  private opening(given: OpenParams, cancel: () => void, done: Promise<{ capture: CaptureInfo }>): Opening {
    const name = given.target?.name ?? given.profile ?? "model";
    let report: ((message: string) => void) | undefined;
    let phase = "";
    const settled = done.then(
      ({ capture }) => {
        this.capture = capture;
        this.error = undefined;
        this.awaited = false;
        this.params = { ...this.params, ...(given.profile === undefined ? {} : { profile: given.profile }) };
        this.panel.title = capture.name;
      },
      () => {}, // told by `failed`
    );
    const timer = setTimeout(() => {
      const options = { location: vscode.ProgressLocation.Notification, title: `Tracing ${name}`, cancellable: true };
      void vscode.window.withProgress(options, (progress, token) => {
        token.onCancellationRequested(cancel);
        report = (message) => progress.report({ message });
        if (phase) report(phase);
        return settled;
      });
    }, NOTICE_MS);
    void settled.then(() => clearTimeout(timer));
    return {
      report: (message) => {
        phase = message;
        report?.(message);
      },
    };
  }

  private openFailed(given: OpenParams, error: ServerError): void {
    this.error = error;
    if (this.awaited) this.failed(given, error);
    this.awaited = false;
  }
}

/** Goes to a source line beside the graph, which keeps the focus. */
async function showSource(location: Location, beside: vscode.WebviewPanel): Promise<ShowSourceResult> {
  const uri = vscode.Uri.parse(location.uri, true);
  if (uri.scheme !== "file" || !SOURCES.test(uri.path)) {
    throw { code: -32602, message: "The location is no source file of this machine." };
  }
  const { start, end } = location.range;
  const selection = new vscode.Range(start.line, start.character, end.line, end.character);
  const other = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
  const column =
    other?.viewColumn ??
    vscode.window.visibleTextEditors.find((editor) => editor.viewColumn && editor.viewColumn !== beside.viewColumn)
      ?.viewColumn ??
    (beside.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Beside : vscode.ViewColumn.One);
  await vscode.window.showTextDocument(uri, { viewColumn: column, preserveFocus: true, selection });
  return { shown: true, place: `${vscode.workspace.asRelativePath(uri)}:${start.line + 1}` };
}

async function save(name: string, data: Uint8Array): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const options = folder ? { defaultUri: vscode.Uri.joinPath(folder, name) } : {};
  const file = await vscode.window.showSaveDialog(options);
  if (!file) return;
  try {
    await vscode.workspace.fs.writeFile(file, data);
    vscode.window.setStatusBarMessage(`Saved ${vscode.workspace.asRelativePath(file)}`, 5000);
  } catch (error) {
    void vscode.window.showErrorMessage(`${file.fsPath} could not be written: ${error}`);
  }
}

/** The page of a panel. Only the application's own script runs, and nothing is loaded from elsewhere. */
export function page(webview: Pick<vscode.Webview, "asWebviewUri" | "cspSource">, folder: vscode.Uri): string {
  const nonce = randomBytes(18).toString("base64url");
  const script = webview.asWebviewUri(vscode.Uri.joinPath(folder, "canvas.js"));
  const style = webview.asWebviewUri(vscode.Uri.joinPath(folder, "style.css"));
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <title>TensorViz</title>
    <link rel="stylesheet" href="${style}" />
  </head>
  <body>
    <div id="app"></div>
    <script type="module" nonce="${nonce}" src="${script}"></script>
  </body>
</html>`;
}
