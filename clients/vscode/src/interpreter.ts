// What the Python extension has selected, behind one interface for its two generations.
import * as vscode from "vscode";

export interface InterpreterSource {
  readonly name: string;
  /** Path of the Python that is selected for a folder. */
  current(folder: vscode.Uri): Promise<string | undefined>;
  /** The selection changed, of one folder or of all. */
  onDidChange(listener: () => void): vscode.Disposable;
}

/** Of `ms-python.python`: https://github.com/microsoft/vscode-python, `PythonExtension`. */
interface PythonApi {
  ready?: Promise<void>;
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { id: string; path: string };
    resolveEnvironment(
      environment: { id: string; path: string } | string,
    ): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** Of `ms-python.vscode-python-envs`, which takes the selection over where it is on. */
interface EnvironmentsApi {
  getEnvironment(scope: vscode.Uri | undefined): Promise<{ execInfo?: { run?: { executable?: string } } } | undefined>;
  onDidChangeEnvironment: vscode.Event<unknown>;
}

/** Undefined where neither extension is installed, or it does not start. */
export async function interpreterSource(log: (message: string) => void): Promise<InterpreterSource | undefined> {
  const useNewer = vscode.workspace.getConfiguration("python").get<boolean>("useEnvironmentsExtension", false);
  const newer = useNewer ? await api<EnvironmentsApi>("ms-python.vscode-python-envs", log) : undefined;
  if (newer) {
    return {
      name: "Python Environments",
      current: async (folder) => (await newer.getEnvironment(folder))?.execInfo?.run?.executable,
      onDidChange: (listener) => newer.onDidChangeEnvironment(listener),
    };
  }
  const older = await api<PythonApi>("ms-python.python", log);
  if (!older) return undefined;
  await older.ready;
  const { environments } = older;
  return {
    name: "Python",
    current: async (folder) => {
      const active = environments.getActiveEnvironmentPath(folder);
      return (await environments.resolveEnvironment(active))?.executable.uri?.fsPath;
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
