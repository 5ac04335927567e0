import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { findServer, isInside, MARKER, type Places } from "../src/find";

let root: string;
let places: Places;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tvls-"));
  places = {
    setting: [],
    installed: join(root, "installed"),
    interpreter: undefined,
    path: join(root, "bin"),
    folders: [join(root, "workspace")],
    trusted: true,
  };
});

function program(...parts: string[]): string {
  const file = join(root, ...parts);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, 0o755);
  return file;
}

test("in this order: setting, installed, interpreter, PATH", async () => {
  expect(await findServer(places)).toBeUndefined();
  const onPath = program("bin", "tvls");
  expect(await findServer(places)).toEqual({ command: onPath, args: ["serve"], from: "path" });
  const beside = program("env", "bin", "tvls");
  places.interpreter = join(root, "env", "bin", "python");
  expect(await findServer(places)).toEqual({ command: beside, args: ["serve"], from: "interpreter" });
  const python = program("installed", "bin", "python");
  expect((await findServer(places))?.from).toBe("interpreter"); // its installation did not end
  writeFileSync(join(root, "installed", MARKER), "");
  expect(await findServer(places)).toEqual({ command: python, args: ["-m", "tvls", "serve"], from: "installed" });
  places.setting = ["uvx", "tvls", "serve"];
  expect(await findServer(places)).toEqual({ command: "uvx", args: ["tvls", "serve"], from: "setting" });
});

// R4
test("nothing of a workspace that is not trusted is started", async () => {
  program("workspace", ".venv", "bin", "tvls");
  places.interpreter = join(root, "workspace", ".venv", "bin", "python");
  places.path = [join(root, "workspace", ".venv", "bin"), "relative/bin", ""].join(":");
  expect((await findServer(places))?.from).toBe("interpreter");
  places.trusted = false;
  expect(await findServer(places)).toBeUndefined();
});

test("a file that cannot be executed is no server", async () => {
  chmodSync(program("bin", "tvls"), 0o644);
  expect(await findServer(places)).toBeUndefined();
});

test("folders whose names begin alike do not hold each other's files", () => {
  expect(isInside("/home/ada/net/a", "/home/ada/net")).toBe(true);
  expect(isInside("/home/ada/network/a", "/home/ada/net")).toBe(false);
});
