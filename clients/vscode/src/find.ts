// Which server to start. Nothing is run to find it, since an interpreter of the workspace must not run before trust.
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";

export interface FoundServer {
  command: string;
  args: string[];
  from: "setting" | "installed" | "interpreter" | "path";
}

export interface Places {
  /** The setting `tvls.server`. */
  setting: readonly string[];
  /** Folder of the environment that the extension has installed its own server in. */
  installed: string;
  /** The selected Python, where it may be run: in a workspace that is not trusted there is none. */
  interpreter: string | undefined;
  /** `PATH`. */
  path: string;
  /** Folders of the workspace. A program in one of them is left out while `trusted` is false. */
  folders: readonly string[];
  trusted: boolean;
}

export async function findServer(places: Places): Promise<FoundServer | undefined> {
  const [command, ...args] = places.setting;
  if (command) return { command, args, from: "setting" };
  if (await runs(join(places.installed, MARKER), constants.R_OK)) {
    const python = join(places.installed, "bin", "python");
    if (await runs(python)) return { command: python, args: ["-m", "tvls", "serve"], from: "installed" };
  }
  const allowed = (file: string) => places.trusted || !places.folders.some((folder) => isInside(file, folder));
  if (places.interpreter && isAbsolute(places.interpreter)) {
    const beside = join(dirname(places.interpreter), "tvls");
    if (allowed(beside) && (await runs(beside))) return { command: beside, args: ["serve"], from: "interpreter" };
  }
  for (const folder of places.path.split(delimiter)) {
    const program = join(folder, "tvls");
    if (isAbsolute(folder) && allowed(program) && (await runs(program))) {
      return { command: program, args: ["serve"], from: "path" };
    }
  }
  return undefined;
}

/** Written last: an environment without it is one whose installation did not end. */
export const MARKER = ".complete";

async function runs(file: string, mode: number = constants.X_OK): Promise<boolean> {
  try {
    await access(file, mode);
    return true;
  } catch {
    return false;
  }
}

export function isInside(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
