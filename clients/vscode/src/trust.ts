// VS Code decides whom to trust; the server is told.
import * as vscode from "vscode";
import { ErrorCodes } from "../../canvas/src/protocol";
import type { ServerError } from "./connection";
import { folderUris, type Server } from "./server";

export const NOT_TRUSTED: ServerError = {
  code: ErrorCodes.notTrusted,
  message: "This window is in Restricted Mode, so nothing of its folders is run.",
  data: {
    kind: "notTrusted",
    nextStep: "Trust the workspace if you trust the people who wrote what is in it; opening a graph runs its code.",
  },
};

/** Whether code of the workspace may run; where not, the person is led to where VS Code asks. */
export async function mayRun(): Promise<boolean> {
  if (vscode.workspace.isTrusted) return true;
  const manage = "Manage Workspace Trust";
  const text = "Opening a graph runs Python code of this workspace, which is in Restricted Mode.";
  const answer = await vscode.window.showWarningMessage(text, manage);
  if (answer === manage) await vscode.commands.executeCommand("workbench.trust.manage");
  return false;
}

/** Tells the server of folders that VS Code trusts from now on. */
export async function tellTrust(server: Server, folders: readonly string[] = folderUris()): Promise<void> {
  if (!vscode.workspace.isTrusted || !server.running) return;
  for (const folder of folders) await server.request("tvls/trust/grant", { folder });
}
