// Stands in for `ms-python.python`, of which it has the part that tells the selection: here, what a setting says.
import type { ActiveEnvironmentPathChangeEvent, PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

type Told = "getActiveEnvironmentPath" | "resolveEnvironment" | "onDidChangeActiveEnvironmentPath";
type StandIn = Pick<PythonExtension, "ready"> & { environments: Pick<PythonExtension["environments"], Told> };

export function activate(context: vscode.ExtensionContext): StandIn {
  const changed = new vscode.EventEmitter<ActiveEnvironmentPathChangeEvent>();
  const selected = (scope: vscode.ConfigurationScope | undefined) => {
    const path = vscode.workspace.getConfiguration("python", scope).get("defaultInterpreterPath", "");
    return { id: path, path };
  };
  context.subscriptions.push(
    changed,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration("python.defaultInterpreterPath")) return;
      for (const resource of vscode.workspace.workspaceFolders ?? []) changed.fire({ ...selected(resource), resource });
    }),
  );
  return {
    ready: Promise.resolve(),
    environments: {
      getActiveEnvironmentPath: selected,
      resolveEnvironment: async (environment) => {
        const path = typeof environment === "string" ? environment : environment.path;
        if (!path) return undefined;
        const executable = { uri: vscode.Uri.file(path), bitness: "64-bit", sysPrefix: "" } as const;
        return { id: path, path, executable, environment: undefined, version: undefined, tools: ["Venv"] };
      },
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
}
