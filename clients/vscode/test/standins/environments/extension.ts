// Stands in for `ms-python.vscode-python-envs`, of which it has the part that tells the selection: here, what a setting says.
import type {
  DidChangeEnvironmentEventArgs,
  PythonEnvironment,
  PythonProjectEnvironmentApi,
} from "@vscode/python-environments";
import * as vscode from "vscode";

type StandIn = Pick<PythonProjectEnvironmentApi, "getEnvironment" | "onDidChangeEnvironment">;

/** Undefined where it is off, as with the real one. */
export function activate(context: vscode.ExtensionContext): StandIn | undefined {
  if (!vscode.workspace.getConfiguration("python").get<boolean>("useEnvironmentsExtension")) return undefined;
  const changed = new vscode.EventEmitter<DidChangeEnvironmentEventArgs>();
  const selected = (scope: vscode.Uri | undefined): PythonEnvironment | undefined => {
    const executable = vscode.workspace.getConfiguration("python", scope).get("defaultInterpreterPath", "");
    if (!executable) return undefined;
    return {
      envId: { id: executable, managerId: "standin" },
      name: executable,
      displayName: executable,
      displayPath: executable,
      version: "3",
      environmentPath: vscode.Uri.file(executable),
      execInfo: { run: { executable } },
      sysPrefix: "",
    };
  };
  context.subscriptions.push(
    changed,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration("python.defaultInterpreterPath")) return;
      for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
        changed.fire({ uri, old: undefined, new: selected(uri) });
      }
    }),
  );
  return { getEnvironment: async (scope) => selected(scope), onDidChangeEnvironment: changed.event };
}
