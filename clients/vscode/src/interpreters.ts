// Which Python graphs are traced with: follows the Python extension, and lets the person choose.
import * as vscode from "vscode";
import { type InterpreterSource, interpreterSource } from "./interpreter";
import type { Server } from "./server";

export class Interpreters implements vscode.Disposable {
  private source: InterpreterSource | undefined;
  private sourceAsked: Promise<void> | undefined;
  private listening: vscode.Disposable | undefined;
  private telling: Promise<void> = Promise.resolve();
  private readonly disposables: vscode.Disposable[] = [];
  private server: Server | undefined;
  private changed: () => void = () => {};

  constructor(private readonly log: vscode.LogOutputChannel) {}

  /** Tells the server of every selection from now on; `changed` is called after each. */
  serve(server: Server, changed: () => void): void {
    this.server = server;
    this.changed = changed;
    this.disposables.push(
      server.onState((state) => state === "running" && void this.tell()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.tell()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.tell()),
      vscode.extensions.onDidChange(() => {
        this.sourceAsked = undefined; // the Python extension was installed, or is gone
        void this.tell();
      }),
    );
  }

  /** The Python of the first folder, as the setting or the Python extension has it. */
  async first(): Promise<string | undefined> {
    const setting = vscode.workspace.getConfiguration("tvls").get<string | string[]>("interpreter");
    if (typeof setting === "string" && setting) return setting;
    if (Array.isArray(setting) && setting.length === 1) return setting[0];
    const folder = vscode.workspace.workspaceFolders?.[0];
    await this.findSource();
    return folder && (await this.current(folder.uri))?.[0];
  }

  /** Lets the person choose for a folder. */
  async select(folder: vscode.WorkspaceFolder): Promise<void> {
    const { server } = this;
    if (!server) return;
    const uri = folder.uri.toString();
    const found = await server.request("tvls/environment/list", { folder: uri });
    type Item = vscode.QuickPickItem & { choose?: () => Promise<string[] | undefined> };
    const items: Item[] = found.interpreters.map((interpreter) => ({
      label: `${interpreter.selected ? "$(check) " : ""}${interpreter.python ? `Python ${interpreter.python}` : "Python"}`,
      description: interpreter.command.join(" "),
      detail: interpreter.why,
      choose: async () => interpreter.command,
    }));
    items.push(
      { label: "", kind: vscode.QuickPickItemKind.Separator },
      { label: "$(file-directory) Browse…", choose: browse },
      {
        label: "$(discard) Forget the Choice",
        detail: this.source ? `Follow the ${this.source.name} extension` : "Take the first one that fits",
        choose: async () => [],
      },
    );
    const placeHolder = `Python that graphs of ${folder.name} are traced with`;
    const picked = await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true });
    const command = await picked?.choose?.();
    if (!command) return;
    await server.request("tvls/environment/select", { folder: uri, command });
    this.changed();
  }

  dispose(): void {
    this.listening?.dispose();
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async findSource(): Promise<void> {
    this.sourceAsked ??= interpreterSource((message) => this.log.warn(message)).then((source) => {
      this.listening?.dispose();
      this.source = source;
      this.listening = source?.onDidChange(() => void this.tell());
    });
    await this.sourceAsked;
  }

  /** One after the other, so that the selection that is told last is the one that was made last. */
  private tell(): Promise<void> {
    this.telling = this.telling
      .then(() => this.tellNow())
      .catch((error) => this.log.warn(`The interpreter could not be told: ${error}`));
    return this.telling;
  }

  /** The server runs none of them before trust; before it, the Python extension is not asked either. */
  private async tellNow(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    await this.findSource();
    const { server } = this;
    if (!this.source || !server?.running) return;
    for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
      const command = (await this.current(uri)) ?? [];
      try {
        await server.request("tvls/environment/select", { folder: uri.toString(), command, by: "editor" });
      } catch (error) {
        this.log.warn(`The server did not take the interpreter of ${uri.fsPath}: ${error}`);
      }
    }
    this.changed();
  }

  private async current(folder: vscode.Uri): Promise<string[] | undefined> {
    try {
      return await this.source?.current(folder);
    } catch (error) {
      this.log.warn(`The ${this.source?.name} extension did not tell its interpreter: ${error}`);
      return undefined;
    }
  }
}

async function browse(): Promise<string[] | undefined> {
  const picked = await vscode.window.showOpenDialog({ title: "Python", openLabel: "Select", canSelectMany: false });
  return picked?.[0] && [picked[0].fsPath];
}
