// Starts the server and puts the parts together.
import { join } from "node:path";
import * as vscode from "vscode";
import { Commands } from "./commands";
import { findServer } from "./find";
import { Interpreters } from "./interpreters";
import { Models } from "./models";
import { Panels } from "./panels";
import { Server } from "./server";
import { Status } from "./status";
import { tellTrust } from "./trust";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("TensorViz", { log: true });
  context.subscriptions.push(log);
  if (process.platform === "win32") {
    log.warn("The server runs on Linux and macOS. On Windows, open the folder in WSL.");
    void vscode.window.showWarningMessage("TensorViz runs on Linux and macOS. Open the folder in WSL.");
    return;
  }
  const version = (context.extension.packageJSON as { version: string }).version;
  const installed = join(context.globalStorageUri.fsPath, `server-${version}`);
  const interpreters = new Interpreters(log);
  const server = new Server(
    log,
    async () =>
      findServer({
        setting: vscode.workspace.getConfiguration("tvls").get<string[]>("server", []),
        installed,
        interpreter: vscode.workspace.isTrusted ? await interpreters.first() : undefined,
        path: process.env.PATH ?? "",
        folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
        trusted: vscode.workspace.isTrusted,
      }),
    {
      "tvls.server.openGraph": (argument) => vscode.commands.executeCommand("tvls.openGraph", argument),
      "tvls.server.refreshGraph": (argument) => vscode.commands.executeCommand("tvls.refresh", argument),
      "tvls.server.revealInGraph": () => vscode.commands.executeCommand("tvls.revealInGraph"),
    },
  );
  const commands = new Commands(context, log, server, interpreters, installed);
  const panels = new Panels(context.extensionUri, server, (params, error) => void commands.report(params, error));
  const models = new Models(server);
  const status = new Status(server);
  commands.register(panels, models, status);
  interpreters.serve(server, () => void status.update());

  const contexts = () => {
    setContext("tvls.running", server.running);
    setContext("tvls.graphOpen", panels.size > 0);
    setContext("tvls.graphActive", panels.current !== undefined);
  };
  setContext("tvls.active", true);
  context.subscriptions.push(
    panels,
    models,
    status,
    interpreters,
    server,
    server.onState(contexts),
    panels.onChange(contexts),
    panels.onChange(() => server.refreshLenses()),
    server.onState((state) => state === "missing" && void commands.offerInstallation()),
    vscode.workspace.onDidGrantWorkspaceTrust(async () => {
      // A server beside the selected interpreter may be started only from now on.
      if (server.state === "missing") await server.start();
      else await tellTrust(server);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added }) =>
      tellTrust(
        server,
        added.map((folder) => folder.uri.toString()),
      ),
    ),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      // It is told of trust being granted, too, though the value is the same.
      if (event.affectsConfiguration("tvls.server") && (await server.isOther())) await server.start();
    }),
  );
  await server.start();
}

function setContext(name: string, value: boolean): void {
  void vscode.commands.executeCommand("setContext", name, value);
}
