// Installs the server that comes with the extension into an environment of its own.
import { execFile } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { MARKER } from "./find";

const run = promisify(execFile);

/** Oldest Python that the server runs on. */
const OLDEST = [3, 11] as const;
const NAMES = ["python3.13", "python3.12", "python3.11", "python3", "python"];
const CHECK =
  "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2]); raise SystemExit(sys.version_info < (3, 11))";

/** The first of `candidates` and the Pythons on the PATH that can hold the server. */
export async function findPython(candidates: readonly string[]): Promise<string | undefined> {
  for (const python of [...candidates, ...NAMES]) {
    try {
      await run(python, ["-I", "-c", CHECK], { timeout: 15_000 });
      return python;
    } catch {
      // Not there, too old, or without venv (Debian's python3-venv): the next one.
    }
  }
  return undefined;
}

export const NO_PYTHON = `The server needs Python ${OLDEST.join(".")} or newer with venv, and none was found. Install it (Debian: python3 and python3-venv; macOS: brew install python), or name a server in the setting tvls.server.`;

/** Raises where pip fails; its message is the last lines of what it said. */
export async function installServer(
  python: string,
  wheelFolder: string,
  into: string,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const wheel = (await readdir(wheelFolder)).find((name) => name.endsWith(".whl"));
  if (!wheel) throw new Error(`There is no server in ${wheelFolder}: the extension is not complete.`);
  await rm(into, { recursive: true, force: true });
  await mkdir(into, { recursive: true });
  try {
    report("Creating an environment");
    await step(python, ["-I", "-m", "venv", into], signal);
    report("Installing the server and its libraries");
    const pip = ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", join(wheelFolder, wheel)];
    await step(join(into, "bin", "python"), pip, signal);
    await writeFile(join(into, MARKER), wheel);
  } catch (error) {
    await rm(into, { recursive: true, force: true });
    throw error;
  }
}

async function step(command: string, args: string[], signal: AbortSignal): Promise<void> {
  try {
    await run(command, args, { signal, maxBuffer: 16_000_000 });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const { stderr } = error as { stderr?: string };
    throw new Error(stderr?.trim().split("\n").slice(-4).join("\n") || String(error));
  }
}
