// The manifest promises commands, settings and files; the code has to have them.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const file = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const manifest = JSON.parse(readFileSync(file("package.json"), "utf8"));
const { contributes } = manifest;
const commands: string[] = contributes.commands.map(({ command }: { command: string }) => command);

test("every command that is offered is registered, and named in one category", () => {
  const source = readFileSync(file("src/commands.ts"), "utf8");
  for (const { command, category } of contributes.commands) {
    expect(source).toContain(`"${command}": `);
    expect(category).toBe("TensorViz");
  }
});

test("menus, keys and walkthrough name commands that there are", () => {
  const named = [...Object.values<{ command: string }[]>(contributes.menus).flat(), ...contributes.keybindings];
  for (const { command } of named) expect(commands).toContain(command);
  const links = JSON.stringify([contributes.walkthroughs, contributes.viewsWelcome]).matchAll(/command:([\w.]+)/g);
  for (const [, command] of links) expect(commands).toContain(command);
});

test("files that the manifest names are there", () => {
  expect(existsSync(file(manifest.icon))).toBe(true);
  for (const { media } of contributes.walkthroughs[0].steps) {
    expect(existsSync(file(media.markdown ?? media.image)), JSON.stringify(media)).toBe(true);
  }
});

// R4
test("settings that name programs count for a workspace only once it is trusted", () => {
  const { restrictedConfigurations, supported } = manifest.capabilities.untrustedWorkspaces;
  expect(supported).toBe("limited");
  expect(restrictedConfigurations).toEqual(expect.arrayContaining(["tvls.server", "tvls.interpreter"]));
});
