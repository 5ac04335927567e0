// What the Python extension has selected, behind one interface for its two generations.
import type { PythonEnvironmentApi } from "@vscode/python-environments";
import type { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

export interface InterpreterSource {
  readonly name: string;
  /** Command of the Python that is selected for a folder. */
  current(folder: vscode.Uri): Promise<string[] | undefined>;
  /** The selection changed, of one folder or of all. */
  onDidChange(listener: () => void): vscode.Disposable;
}

/** Undefined where neither extension is installed, or it does not start. */
export async function interpreterSource(log: (message: string) => void): Promise<InterpreterSource | undefined> {
  // The newer one takes the selection over where it is on; where not, it has no API.
  const useNewer = vscode.workspace.getConfiguration("python").get<boolean>("useEnvironmentsExtension", false);
  const newer = useNewer ? await api<PythonEnvironmentApi>("ms-python.vscode-python-envs", log) : undefined;
  if (newer) {
    return {
      name: "Python Environments",
      current: async (folder) => {
        const run = (await newer.getEnvironment(folder))?.execInfo.run;
        return run && [run.executable, ...(run.args ?? [])];
      },
      onDidChange: (listener) => newer.onDidChangeEnvironment(listener),
    };
  }
  const older = await api<PythonExtension>("ms-python.python", log);
  if (!older) return undefined;
  await older.ready;
  const { environments } = older;
  return {
    name: "Python",
    current: async (folder) => {
      const active = environments.getActiveEnvironmentPath(folder);
      const python = (await environments.resolveEnvironment(active))?.executable.uri?.fsPath;
      return python === undefined ? undefined : [python];
    },
    onDidChange: (listener) => environments.onDidChangeActiveEnvironmentPath(listener),
  };
}

async function api<T>(id: string, log: (message: string) => void): Promise<T | undefined> {
  const extension = vscode.extensions.getExtension<T>(id);
  if (!extension) return undefined;
  try {
    return await extension.activate();
  } catch (error) {
    log(`${id} did not start, so its interpreter is not followed: ${error}`);
    return undefined;
  }
}
