// What the person can do, by command.
import { join } from "node:path";
import * as vscode from "vscode";
import type { OpenParams, TargetInfo } from "../../canvas/src/protocol";
import { type ServerError, serverError } from "./connection";
import { type Remedy, reportOf, TITLES } from "./failures";
import { findPython, installServer, NO_PYTHON } from "./install";
import type { Interpreters } from "./interpreters";
import { FileItem, type Models, TargetItem } from "./models";
import type { GraphPanel, Panels } from "./panels";
import type { Server } from "./server";
import type { Status } from "./status";
import { mayRun } from "./trust";

/** Argument of a lens: a model, or a profile of `tensorviz.toml`. */
interface LensArgument {
  uri?: string;
  name?: string;
  profile?: string;
  folder?: string;
}

const EXPORTS = [
  { label: "SVG", description: "picture of the view", what: "svg" },
  { label: "PNG", description: "picture of the view", what: "png" },
  { label: "JSON", description: "portable graph file", what: "json" },
  { label: "HTML", description: "page that opens anywhere", what: "html" },
] as const;

export class Commands {
  private panels!: Panels;
  private offered = false;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly server: Server,
    private readonly interpreters: Interpreters,
    private readonly installed: string,
  ) {}

  register(panels: Panels, models: Models, status: Status): void {
    this.panels = panels;
    const commands: Record<string, (argument?: unknown) => unknown> = {
      "tvls.openGraph": (argument) => this.openGraph(argument),
      "tvls.refresh": (argument) => this.refresh(argument),
      "tvls.editSetup": (argument) => this.editSetup(argument),
      "tvls.selectInterpreter": () => this.selectInterpreter(),
      "tvls.revealInGraph": () => this.revealInGraph(),
      "tvls.compare": () => this.ofPanel((panel) => panel.command({ do: "compare" })),
      "tvls.export": () => this.export(),
      "tvls.showLog": () => this.log.show(),
      "tvls.restart": () => this.server.start(),
      "tvls.installServer": () => this.install(),
      "tvls.openSample": () => this.openSample(),
      "tvls.models.refresh": () => models.refresh(),
    };
    for (const [name, run] of Object.entries(commands)) {
      const told = async (argument?: unknown) => {
        try {
          return await run(argument);
        } catch (error) {
          void this.tell(serverError(error).message, ["showLog"]);
          return undefined;
        }
      };
      this.context.subscriptions.push(vscode.commands.registerCommand(name, told));
    }
    this.context.subscriptions.push(vscode.window.onDidChangeActiveTextEditor(() => void status.update()));
  }

  /** One message for a trace that failed, with what can be done. */
  async report(params: OpenParams, error: ServerError): Promise<void> {
    const report = reportOf(params, error);
    if (report) await this.tell(report.message, report.remedies, params, error);
  }

  async offerInstallation(): Promise<void> {
    if (this.offered) return; // once a window
    this.offered = true;
    const install = "Install Server";
    const settings = "Open Settings";
    const text = "TensorViz found no server: it can install its own, into an environment that your models do not see.";
    const answer = await vscode.window.showInformationMessage(text, install, settings);
    if (answer === install) await vscode.commands.executeCommand("tvls.installServer");
    else if (answer === settings) await openSettings("tvls.server");
  }

  private async openGraph(argument: unknown): Promise<void> {
    const params = argumentOf(argument) ?? (await this.atCursor()) ?? (await this.pick());
    if (params && (await mayRun()) && this.serverRuns()) this.panels.open(params);
  }

  private async refresh(argument: unknown): Promise<void> {
    const params = argumentOf(argument);
    if (!(await mayRun())) return;
    if (params) this.panels.open(params, true);
    else this.ofPanel((panel) => panel.command({ do: "refresh" }));
  }

  /** The form: of the graph that is worked with, else of the model at the cursor, of the graph that is seen, or picked. */
  private async editSetup(argument: unknown): Promise<void> {
    const params =
      argumentOf(argument) ??
      this.panels.active?.params ??
      (await this.atCursor()) ??
      this.panels.current?.params ??
      (await this.pick());
    if (params && (await mayRun()) && this.serverRuns()) this.panels.editSetup(params);
  }

  private async selectInterpreter(): Promise<void> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const active = vscode.window.activeTextEditor?.document.uri;
    const folder =
      (active && vscode.workspace.getWorkspaceFolder(active)) ??
      (folders.length > 1 ? await vscode.window.showWorkspaceFolderPick() : folders[0]);
    if (folder && this.serverRuns()) await this.interpreters.select(folder);
    else if (folders.length === 0) void vscode.window.showInformationMessage("Open the folder of your models first.");
  }

  private async revealInGraph(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const panel = await this.panels.mark(editor.document.uri, editor.selection.active);
    if (panel) panel.panel.reveal(undefined, true);
    else void vscode.window.showInformationMessage("No open graph has an operation from this place.");
  }

  private async export(): Promise<void> {
    const picked = await vscode.window.showQuickPick(EXPORTS, { placeHolder: "What to take away" });
    if (picked) this.ofPanel((panel) => panel.command({ do: "export", kind: picked.what }));
  }

  private async install(): Promise<void> {
    const wheels = join(this.context.extensionPath, "server");
    const first = vscode.workspace.isTrusted ? await this.interpreters.first() : undefined;
    const python = await findPython(first ? [first] : []);
    if (!python) {
      void this.tell(NO_PYTHON, ["limits"]);
      return;
    }
    const options = { location: vscode.ProgressLocation.Notification, title: "TensorViz", cancellable: true };
    await vscode.window.withProgress(options, async (progress, token) => {
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort(new vscode.CancellationError()));
      try {
        await this.server.stop();
        await installServer(python, wheels, this.installed, (message) => progress.report({ message }), stop.signal);
      } catch (error) {
        if (!stop.signal.aborted) {
          this.log.error(`The server could not be installed: ${error}`);
          void this.tell(`The server could not be installed. ${serverError(error).message}`, ["showLog"]);
        }
      }
      await this.server.start();
    });
  }

  /** A copy of the sample, so that it can be changed, in a window of its own. */
  private async openSample(): Promise<void> {
    const from = vscode.Uri.joinPath(this.context.extensionUri, "media", "sample");
    const to = vscode.Uri.joinPath(this.context.globalStorageUri, "sample");
    try {
      await vscode.workspace.fs.stat(to);
    } catch {
      await vscode.workspace.fs.copy(from, to);
    }
    await vscode.commands.executeCommand("vscode.openFolder", to, { forceNewWindow: true });
  }

  /** The model around the cursor. */
  private async atCursor(): Promise<OpenParams | undefined> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "python" || !this.server.running) return undefined;
    const uri = editor.document.uri.toString();
    const { targets } = await this.server.request("tvls/targets/list", { textDocument: { uri } });
    const line = editor.selection.active.line;
    const around = targets.filter(({ body }) => body && body.start.line <= line && line <= body.end.line);
    const innermost = around.sort((a, b) => b.range.start.line - a.range.start.line)[0];
    return innermost && paramsOf(innermost);
  }

  /** One that the person picks. */
  private async pick(): Promise<OpenParams | undefined> {
    if (!this.serverRuns()) return undefined;
    const { targets } = await this.server.request("tvls/targets/list", {});
    if (targets.length === 0) {
      void vscode.window.showInformationMessage("No JAX function, Flax or PyTorch module was found.");
      return undefined;
    }
    const items = targets.map((target) => ({
      label: target.name,
      description: vscode.workspace.asRelativePath(vscode.Uri.parse(target.uri)),
      detail: target.kind,
      target,
    }));
    const picked = await vscode.window.showQuickPick(items, { placeHolder: "Model to open", matchOnDescription: true });
    return picked && paramsOf(picked.target);
  }

  private ofPanel(run: (panel: GraphPanel) => void): void {
    const panel = this.panels.current;
    if (panel) run(panel);
    else void vscode.window.showInformationMessage("No graph is active.");
  }

  private serverRuns(): boolean {
    if (this.server.running) return true;
    void this.tell(`The TensorViz server does not run. ${this.server.reason}`.trim(), ["showLog"]);
    return false;
  }

  private async tell(message: string, remedies: Remedy[], params?: OpenParams, error?: ServerError): Promise<void> {
    const chosen = await vscode.window.showErrorMessage(message, ...remedies.map((remedy) => TITLES[remedy]));
    const remedy = remedies.find((known) => TITLES[known] === chosen);
    if (remedy) await this.mend(remedy, params, error);
  }

  private async mend(remedy: Remedy, params: OpenParams | undefined, error: ServerError | undefined): Promise<void> {
    const data = error?.data;
    switch (remedy) {
      case "showLog":
        this.log.show();
        break;
      case "manageTrust":
        await vscode.commands.executeCommand("workbench.trust.manage");
        break;
      case "limits":
        await openSettings("tvls");
        break;
      case "selectInterpreter":
        await this.selectInterpreter();
        if (params) this.panels.open(params);
        break;
      case "editSetup":
        if (params) this.panels.editSetup(params);
        break;
      case "saveAll":
        if ((await vscode.workspace.saveAll()) && params) this.panels.open(params);
        break;
      case "again":
        if (params) this.panels.open(params);
        break;
      case "install":
        await this.server.executeCommand("tvls.server.installLibraries", {
          ...(data?.folder ? { folder: data.folder } : {}),
          ...(data?.interpreter ? { command: data.interpreter } : {}),
          requirements: data?.requirements ?? [],
        });
        if (params) this.panels.open(params);
        break;
      case "showSource": {
        const location = data?.frames?.find((frame) => frame.location)?.location;
        if (!location) break;
        const { start, end } = location.range;
        const selection = new vscode.Range(start.line, start.character, end.line, end.character);
        await vscode.window.showTextDocument(vscode.Uri.parse(location.uri), { selection });
        break;
      }
    }
  }
}

function argumentOf(argument: unknown): OpenParams | undefined {
  if (argument instanceof TargetItem) return paramsOf(argument.target);
  if (argument instanceof FileItem || argument instanceof vscode.Uri || !argument) return undefined;
  const { uri, name, profile, folder } = argument as LensArgument;
  const place = { ...(profile ? { profile } : {}), ...(folder ? { folder } : {}) };
  if (uri && name) return { target: { uri, name }, ...place };
  return profile ? place : undefined;
}

function paramsOf({ uri, name }: TargetInfo): OpenParams {
  return { target: { uri, name } };
}

function openSettings(query: string): Thenable<unknown> {
  return vscode.commands.executeCommand("workbench.action.openSettings", query);
}
