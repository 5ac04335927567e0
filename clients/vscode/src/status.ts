// What the server is at, in the language status of Python files.
import * as vscode from "vscode";
import type { Server, ServerState } from "./server";

const TEXTS: Readonly<Record<ServerState, { text: string; severity: vscode.LanguageStatusSeverity; busy?: boolean }>> =
  {
    missing: { text: "No server", severity: 1 },
    starting: { text: "Starting…", severity: 0, busy: true },
    running: { text: "Running", severity: 0 },
    restarting: { text: "Starting again…", severity: 1, busy: true },
    failed: { text: "Failed", severity: 2 },
    stopped: { text: "Stopped", severity: 1 },
  };

export class Status implements vscode.Disposable {
  private readonly items: vscode.LanguageStatusItem[];
  private readonly listening: vscode.Disposable;

  constructor(private readonly server: Server) {
    const selector = [{ language: "python" }, { pattern: "**/tensorviz.toml" }];
    const state = vscode.languages.createLanguageStatusItem("tvls.state", selector);
    state.name = "TensorViz: Server";
    const python = vscode.languages.createLanguageStatusItem("tvls.interpreter", selector);
    python.name = "TensorViz: Interpreter";
    python.command = { command: "tvls.selectInterpreter", title: "Select" };
    this.items = [state, python];
    this.listening = server.onState(() => void this.update());
    void this.update();
  }

  async update(): Promise<void> {
    const [state, python] = this.items;
    if (!state || !python) return;
    const { text, severity, busy } = TEXTS[this.server.state];
    state.text = `TensorViz: ${text}`;
    state.severity = severity;
    state.busy = busy ?? false;
    state.detail = this.server.reason;
    state.command =
      this.server.state === "missing"
        ? { command: "tvls.installServer", title: "Install" }
        : this.server.state === "failed" || this.server.state === "stopped"
          ? { command: "tvls.restart", title: "Restart" }
          : { command: "tvls.showLog", title: "Show Log" };
    python.text = "TensorViz: Interpreter";
    python.detail = await this.interpreter();
  }

  dispose(): void {
    this.listening.dispose();
    for (const item of this.items) item.dispose();
  }

  private async interpreter(): Promise<string> {
    const editor = vscode.window.activeTextEditor;
    const folder =
      (editor && vscode.workspace.getWorkspaceFolder(editor.document.uri)) ?? vscode.workspace.workspaceFolders?.[0];
    if (!folder || !this.server.running) return "";
    try {
      const found = await this.server.request("tvls/environment/list", { folder: folder.uri.toString() });
      const selected = found.interpreters.find((interpreter) => interpreter.selected);
      return selected ? `${selected.command.join(" ")} (${selected.why})` : "none was found";
    } catch {
      return ""; // the server ends just now: its state says so
    }
  }
}
