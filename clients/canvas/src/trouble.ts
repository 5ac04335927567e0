import { RequestError } from "./host";
import type { Trouble } from "./state";

export function describe(error: unknown): Trouble {
  if (error instanceof RequestError) {
    return error.data
      ? { kind: error.data.kind, message: error.message, data: error.data }
      : { kind: "unknown", message: error.message };
  }
  return { kind: "unknown", message: error instanceof Error ? error.message : String(error) };
}
