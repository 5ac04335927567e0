// The models of the workspace, by file, with what is known of each.
import { posix } from "node:path";
import * as vscode from "vscode";
import type { TargetInfo } from "../../canvas/src/protocol";
import type { Server } from "./server";

const PAUSE_MS = 300;

export const STATES: Readonly<Record<string, { text: string; icon: string; colour?: string }>> = {
  noSetup: { text: "no setup", icon: "circle-outline" },
  ready: { text: "ready", icon: "circle-large-outline" },
  fresh: { text: "fresh", icon: "pass", colour: "testing.iconPassed" },
  stale: { text: "stale", icon: "history", colour: "list.warningForeground" },
  failed: { text: "failed", icon: "error", colour: "testing.iconFailed" },
};

const KINDS: Readonly<Record<string, string>> = {
  "flax.linen": "Flax Linen",
  "flax.nnx": "Flax NNX",
  "jax.function": "JAX function",
  "torch.module": "PyTorch",
};

export class FileItem extends vscode.TreeItem {
  constructor(
    readonly uri: vscode.Uri,
    readonly targets: TargetInfo[],
  ) {
    super(uri, vscode.TreeItemCollapsibleState.Expanded);
    this.iconPath = vscode.ThemeIcon.File;
    const folder = posix.dirname(vscode.workspace.asRelativePath(uri));
    this.description = folder === "." ? "" : folder;
    this.id = uri.toString();
  }
}

export class TargetItem extends vscode.TreeItem {
  constructor(readonly target: TargetInfo) {
    super(target.name);
    const { uri, name, kind, range, state = "noSetup" } = target;
    const look = STATES[state] ?? { text: state, icon: "question" };
    const place = vscode.Uri.parse(uri);
    const selection = new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
    this.id = `${uri}#${name}`;
    this.description = `${KINDS[kind] ?? kind} · ${look.text}`;
    this.iconPath = new vscode.ThemeIcon(look.icon, look.colour ? new vscode.ThemeColor(look.colour) : undefined);
    this.contextValue = `target.${state}`;
    this.accessibilityInformation = { label: `${name}, ${KINDS[kind] ?? kind}, ${look.text}` };
    this.command = { command: "vscode.open", title: "Go to Source", arguments: [place, { selection }] };
  }
}

export class Models implements vscode.TreeDataProvider<FileItem | TargetItem>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<FileItem | TargetItem>;
  private readonly disposables: vscode.Disposable[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.view = vscode.window.createTreeView("tvls.models", { treeDataProvider: this });
    this.disposables.push(
      this.view,
      // Lenses are asked for whenever a state changes, so that these are all the occasions.
      server.onLenses(() => this.later()),
      server.onCapture(() => this.later()),
      server.onState(() => this.later()),
      vscode.workspace.onDidSaveTextDocument(() => this.later()),
      this.view.onDidChangeVisibility(() => this.later()),
    );
  }

  refresh(): void {
    this.changed.fire();
  }

  getTreeItem(item: FileItem | TargetItem): vscode.TreeItem {
    return item;
  }

  async getChildren(item?: FileItem | TargetItem): Promise<(FileItem | TargetItem)[]> {
    if (item instanceof FileItem) return item.targets.map((target) => new TargetItem(target));
    if (item || !this.server.running) return [];
    const { targets } = await this.server.request("tvls/targets/list", {});
    const files = new Map<string, TargetInfo[]>();
    for (const target of targets) files.set(target.uri, [...(files.get(target.uri) ?? []), target]);
    return [...files]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([uri, found]) => new FileItem(vscode.Uri.parse(uri), found));
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Changes come in bursts; a view that nobody sees asks for nothing. */
  private later(): void {
    if (!this.view.visible) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.changed.fire(), PAUSE_MS);
  }
}
