// Runs in the extension host of a real VS Code, against the real server; tests/vscode/test_host.py starts it.
import assert from "node:assert/strict";
import * as vscode from "vscode";

const ID = "tensorviz.tvls";
const SECONDS = 60;

async function until<T>(what: string, answer: () => T | Thenable<T>): Promise<Exclude<NonNullable<T>, false>> {
  for (const end = Date.now() + SECONDS * 1000; Date.now() < end; ) {
    const found = await answer();
    if (found) return found as Exclude<NonNullable<T>, false>;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${what}: not within ${SECONDS} s`);
}

export async function run(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  assert(folder);
  const file = (name: string) => vscode.Uri.joinPath(folder, name);
  const document = await vscode.workspace.openTextDocument(file("model.py"));
  await vscode.window.showTextDocument(document);
  await until("activation", () => vscode.extensions.getExtension(ID)?.isActive);

  // Lenses above each model, with the command of the extension, which has a canvas of its own.
  const lenses = () =>
    vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri, 50);
  const found = await until("lenses", async () => {
    const given = await lenses();
    return given.length === 3 && given;
  });
  assert.deepEqual(
    found.map(({ command }) => [command?.title, command?.command, command?.arguments?.[0].name]),
    ["net", "Block", "MLP"].map((name) => ["Open as Graph", "tvls.openGraph", name]),
  );

  // Every command of the manifest is registered; none of the server's is taken twice.
  const commands = await vscode.commands.getCommands(true);
  const { contributes } = vscode.extensions.getExtension(ID)?.packageJSON ?? {};
  for (const { command } of contributes.commands) assert(commands.includes(command), command);
  assert(commands.includes("tvls.server.openGraph"));

  // Code actions, at the model around the cursor.
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider",
    document.uri,
    new vscode.Range(9, 0, 9, 0),
    "source.tvls.openGraph",
  );
  assert.deepEqual(
    actions.map(({ title }) => title),
    ["Open net as Graph"],
  );

  // The lens opens a panel beside the code, which keeps the focus; hover then has shapes.
  const [lens] = found;
  await vscode.commands.executeCommand(lens?.command?.command ?? "", ...(lens?.command?.arguments ?? []));
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  await until("panel", () => tabs().some((tab) => tab.label === "net" && tab.input instanceof vscode.TabInputWebview));
  assert.equal(vscode.window.activeTextEditor?.document.uri.toString(), document.uri.toString());
  await until("fresh lens", async () => (await lenses()).some(({ command }) => command?.title.endsWith("· fresh")));
  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
    "vscode.executeHoverProvider",
    document.uri,
    new vscode.Position(9, 6),
  );
  const text = hovers.flatMap(({ contents }) => contents.map((part) => (typeof part === "string" ? part : part.value)));
  assert.match(text.join("\n"), /float32\[8, 4\].*inferred · fresh/);

  // The same target has one panel, others have their own.
  await vscode.commands.executeCommand(lens?.command?.command ?? "", ...(lens?.command?.arguments ?? []));
  await vscode.commands.executeCommand("tvls.openGraph", { profile: "net", folder: folder.toString() });
  await until("second panel", () => tabs().filter((tab) => tab.label === "net").length === 2);

  // Inlay hints only where the setting asks for them.
  const hints = () =>
    vscode.commands.executeCommand<vscode.InlayHint[]>(
      "vscode.executeInlayHintProvider",
      document.uri,
      new vscode.Range(0, 0, 12, 0),
    );
  assert.deepEqual(await hints(), []);
  const settings = vscode.workspace.getConfiguration("tvls");
  await settings.update("inlayHints", true, vscode.ConfigurationTarget.Workspace);
  const label = (hint: vscode.InlayHint) =>
    typeof hint.label === "string" ? hint.label : hint.label.map(({ value }) => value).join("");
  const shown = await until("hints", async () => {
    const given = await hints();
    return given.length > 0 && given;
  });
  assert(shown.map(label).includes(": float32[8, 4]"), shown.map(label).join());

  // tensorviz.toml: lens, hover and diagnostics come from the server.
  const setup = await vscode.workspace.openTextDocument(file("tensorviz.toml"));
  const editor = await vscode.window.showTextDocument(setup, vscode.ViewColumn.One);
  await until("lens of a profile", async () =>
    (await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", setup.uri, 50)).some(
      ({ command }) => command?.title.startsWith("Open as Graph"),
    ),
  );
  await editor.edit((change) =>
    change.insert(setup.positionAt(setup.getText().length), "\n[profiles.wrong]\nmode = 3\n"),
  );
  await until("diagnostics", () => vscode.languages.getDiagnostics(setup.uri).length > 0);

  // A restart ends one server and starts another, and everything answers again.
  await vscode.commands.executeCommand("tvls.restart");
  await until("lenses after a restart", async () => (await lenses()).length === 3);
}
