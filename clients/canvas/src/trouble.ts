import { RequestError } from "./host";
import type { Trouble } from "./state";

export const REQUEST_CANCELLED = -32800;

export function describe(error: unknown): Trouble {
  if (error instanceof RequestError) {
    if (error.code === REQUEST_CANCELLED) return { kind: "cancelled", message: error.message };
    return error.data
      ? { kind: error.data.kind, message: error.message, data: error.data }
      : { kind: "unknown", message: error.message };
  }
  return { kind: "unknown", message: error instanceof Error ? error.message : String(error) };
}
