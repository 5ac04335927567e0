// Graphs that were really traced (`tests/canvas/record.py`), and a host that answers from them.
import { readFileSync } from "node:fs";
import { createActions } from "../src/actions/actions";
import type { Host } from "../src/host";
import { type FileData, hostOf } from "../src/host/file";
import { estimate } from "../src/measure";
import { createStore } from "../src/state";

export function recorded(name: "tower" | "rnn"): FileData {
  return JSON.parse(readFileSync(new URL(`./graphs/${name}.json`, import.meta.url), "utf8")) as FileData;
}

export interface Call {
  method: string;
  params: Record<string, unknown>;
}

/** A canvas without a page: state and actions over a recorded graph. `calls` lists what was asked of the host. */
export async function canvas(name: "tower" | "rnn", wrap: (host: Host) => Host = (host) => host) {
  const inner = wrap(hostOf(recorded(name)));
  const calls: Call[] = [];
  const host: Host = {
    ...inner,
    request: (method, params, signal) => {
      calls.push({ method, params: params as Record<string, unknown> });
      return inner.request(method, params, signal);
    },
  };
  const store = createStore();
  const actions = createActions(host, store, estimate);
  await actions.adopt(await host.request("tvls/canvas/attach", { page: "" }));
  return { store, actions, calls, ids: () => [...(store.get().shown?.picture.boxes.keys() ?? [])] };
}

/** Lets requests that are under way be answered. */
export const settled = () => new Promise((done) => setTimeout(done, 5));
