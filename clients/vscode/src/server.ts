// The server's process and the language client to it: started once it is found, started again after a crash.
import * as vscode from "vscode";
import {
  CloseAction,
  CodeLensRequest,
  type ConfigurationParams,
  ErrorAction,
  type ExecuteCommandSignature,
  type LanguageClientOptions,
  ProgressType,
  RevealOutputChannelOn,
  type ShowDocumentParams,
  State,
  type StaticFeature,
} from "vscode-languageclient";
import { LanguageClient, type ServerOptions } from "vscode-languageclient/node";
import type { CaptureInfo, Requests } from "../../canvas/src/protocol";
import { Backoff } from "./backoff";
import type { Connection } from "./connection";
import type { FoundServer } from "./find";

export type ServerState = "missing" | "starting" | "running" | "restarting" | "failed" | "stopped";

/** Commands of the server that the extension carries out itself, since it shows what comes of them. */
export type OwnCommands = Readonly<Record<string, (argument: unknown) => Thenable<unknown>>>;

/** Settings that are the server's; the others are the extension's alone. */
const SETTINGS = ["interpreter", "idleSeconds", "limits", "inlayHints"] as const;

export class Server implements Connection, vscode.Disposable {
  private readonly stateEmitter = new vscode.EventEmitter<ServerState>();
  private readonly captureEmitter = new vscode.EventEmitter<CaptureInfo>();
  private readonly lensEmitter = new vscode.EventEmitter<void>();
  readonly onState = this.stateEmitter.event;
  readonly onCapture = this.captureEmitter.event;
  /** Lenses were asked for: states of models may be others now. */
  readonly onLenses = this.lensEmitter.event;
  state: ServerState = "stopped";
  /** Why it does not run, for people. */
  reason = "";
  found: FoundServer | undefined;
  private client: LanguageClient | undefined;
  private backoff = new Backoff();

  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly find: () => Promise<FoundServer | undefined>,
    private readonly own: OwnCommands,
  ) {}

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  async start(): Promise<void> {
    await this.stop();
    this.become("starting");
    this.found = await this.find();
    if (!this.found) {
      this.log.warn("No server was found.");
      this.become("missing", "No server was found.");
      return;
    }
    const { command, args, from } = this.found;
    this.log.info(`Starting ${[command, ...args].join(" ")} (${from})`);
    const run: ServerOptions = { command, args, options: { env: { ...process.env, PYTHONUNBUFFERED: "1" } } };
    this.backoff = new Backoff();
    const client = new LanguageClient("tvls", "TensorViz", run, this.options());
    client.registerFeature(announced);
    client.onDidChangeState(({ newState }) => {
      if (client !== this.client) return;
      if (newState === State.Running) this.become("running");
      else if (newState === State.Starting && this.state !== "restarting") this.become("starting");
    });
    client.onNotification("$/tvls/captureState", (info: CaptureInfo) => this.captureEmitter.fire(info));
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      if (client !== this.client) return;
      this.log.error(`The server did not start: ${error}`);
      this.become("failed", `${command} did not start: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Whether another server than the one that was started would be found now. */
  async isOther(): Promise<boolean> {
    return JSON.stringify(await this.find()) !== JSON.stringify(this.found);
  }

  async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    if (!client) return;
    this.become("stopped");
    try {
      await client.dispose(2000);
    } catch (error) {
      this.log.warn(`The server did not end in order: ${error}`);
    }
  }

  dispose(): Promise<void> {
    return this.stop();
  }

  async request<M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]["result"]> {
    if (!this.client || !this.running) throw new Error(`The TensorViz server does not run. ${this.reason}`.trim());
    // Left out and undefined are not the same to it: what follows the method is the list of parameters.
    return token ? this.client.sendRequest(method, params, token) : this.client.sendRequest(method, params);
  }

  /** Has the editor ask for lenses again: it forgets to where it loses the focus just after it was told that they changed. */
  refreshLenses(): void {
    const feature = this.client?.getFeature(CodeLensRequest.method);
    for (const { document } of vscode.window.visibleTextEditors) {
      feature?.getProvider(document)?.onDidChangeCodeLensEmitter.fire();
    }
  }

  onProgress(token: string, listener: (value: unknown) => void): vscode.Disposable {
    return this.client?.onProgress(new ProgressType<unknown>(), token, listener) ?? { dispose: () => {} };
  }

  async executeCommand(command: string, ...args: unknown[]): Promise<unknown> {
    return this.client?.sendRequest("workspace/executeCommand", { command, arguments: args });
  }

  private become(state: ServerState, reason = ""): void {
    this.state = state;
    this.reason = reason;
    this.stateEmitter.fire(state);
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "file", pattern: "**/tensorviz.toml" },
      ],
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: () => ({
        ...serverSettings(vscode.workspace.getConfiguration("tvls")),
        trustedFolders: vscode.workspace.isTrusted ? folderUris() : [],
      }),
      errorHandler: {
        error: (error, _message, count) => {
          this.log.error(`Connection to the server: ${error.message} (${count ?? 0})`);
          return { action: ErrorAction.Continue };
        },
        closed: () => this.closed(),
      },
      markdown: { supportHtml: false },
      middleware: {
        executeCommand: (command: string, args: unknown[], next: ExecuteCommandSignature) => {
          const own = this.own[command];
          return own ? own(args[0]) : next(command, args);
        },
        provideCodeLenses: (document, token, next) => {
          this.lensEmitter.fire();
          return next(document, token);
        },
        workspace: {
          configuration: (params: ConfigurationParams) =>
            params.items.map(({ section, scopeUri }) => {
              const scope = scopeUri ? vscode.Uri.parse(scopeUri) : undefined;
              if (section === "tvls") return serverSettings(vscode.workspace.getConfiguration("tvls", scope));
              return section ? vscode.workspace.getConfiguration(undefined, scope).get(section) : null;
            }),
        },
        window: {
          showDocument: async (params: ShowDocumentParams, token, next) => {
            const uri = vscode.Uri.parse(params.uri, true);
            if (!params.external || !/^https?$/.test(uri.scheme)) return next(params, token);
            // In a remote window the page is served elsewhere: through a tunnel.
            return { success: await vscode.env.openExternal(await vscode.env.asExternalUri(uri)) };
          },
        },
      },
    };
  }

  /** The server ended although nobody asked it to. */
  private async closed(): Promise<{ action: CloseAction; handled?: boolean }> {
    const wait = this.backoff.next(Date.now());
    if (wait === undefined) {
      this.log.error("The server ended several times in a row and is not started again.");
      this.become("failed", "The server ended several times in a row.");
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    this.log.warn(`The server ended. It is started again in ${wait} ms.`);
    this.become("restarting", "The server ended and is started again.");
    const { client } = this;
    await new Promise((done) => setTimeout(done, wait));
    return { action: client === this.client ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
  }
}

/** What the extension can do beyond LSP; see *Negotiation* in protocol/SPEC.md. */
const announced: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = {
      ...experimental,
      commands: ["tvls.openGraph"],
      tvls: { captureState: true, trust: "client" },
    };
  },
  initialize: () => {},
  getState: () => ({ kind: "static" }),
  clear: () => {},
};

export function serverSettings(configuration: vscode.WorkspaceConfiguration): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const name of SETTINGS) {
    const value = configuration.get<unknown>(name);
    // Empty: not set. The server has its own default.
    if (value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)) {
      settings[name] = value;
    }
  }
  return settings;
}

export function folderUris(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
}
