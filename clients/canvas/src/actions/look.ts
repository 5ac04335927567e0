// What is selected, and everything known of it.
import type { Host } from "../host";
import type * as p from "../protocol";
import type { Store } from "../state";
import { describe } from "../trouble";
import { newest } from "./newest";

const NAMES_AT_ONCE = 40;
/** Uses of a result that the inspector lists. */
export const USES_LISTED = 12;

export interface Selection {
  select(id: string | undefined): void;
  /** Selects a node, and has the editor show where it comes from. */
  point(id: string): void;
  /** Shows where the selected node comes from, or says that it is not known. */
  source(): void;
  /** Fetches the details of a node again. */
  look(id: string): void;
  showSource(location: p.Location): Promise<void>;
}

export function createSelection(host: Host, store: Store): Selection {
  const requests = newest<"look">();
  const { get } = store;
  /** The node whose source is to be shown when its details are there. `asked`: the person waits for an answer. */
  let wanted: { id: string; asked: boolean } | undefined;

  function select(id: string | undefined): void {
    if (id !== undefined && !get().shown?.picture.boxes.has(id)) return;
    if (id === get().selected) return;
    requests.end("look");
    store.set({ selected: id, details: undefined, detailsTrouble: undefined, fold: undefined, names: new Map() });
    if (id !== undefined) look(id);
  }

  function point(id: string): void {
    select(id);
    want(id, false);
  }

  function source(): void {
    const { selected } = get();
    if (selected !== undefined) want(selected, true);
  }

  function want(id: string, asked: boolean): void {
    wanted = { id, asked };
    const { details, selected } = get();
    if (details && selected === id) void showWanted(details);
  }

  /** The innermost line of the workspace: for a module, the one that calls it. */
  async function showWanted(details: p.NodeDetails): Promise<void> {
    const asked = wanted?.asked ?? false;
    wanted = undefined;
    const location = details.frames?.find((frame) => frame.workspace && frame.location)?.location;
    // A click in a page without an editor has nowhere to go.
    if (location && (asked || get().editor !== undefined)) await showSource(location);
    else if (!location && asked) store.set({ said: `${details.node.label} comes from no line of this folder.` });
  }

  /** Fetches the details of a node. */
  function look(id: string): void {
    const control = requests.begin("look");
    const { shown } = get();
    const box = shown?.picture.boxes.get(id);
    if (!shown || !box) return;
    const node = box.node.fold?.shown ?? id;
    const params: p.NodeParams = { captureId: shown.captureId, node };
    const body = shown.bodies.at(-1)?.id;
    if (body !== undefined) params.body = body;
    const { signal } = control;
    host.request("tvls/graph/node", params, signal).then(
      (details) => {
        if (signal.aborted) return;
        store.set({ details, detailsTrouble: undefined });
        if (wanted?.id === id) void showWanted(details);
        void nameNodes(details, signal);
      },
      (error) => {
        if (!signal.aborted) store.set({ detailsTrouble: describe(error).message });
      },
    );
    if (!box.node.fold) return;
    const folded: p.FoldParams = { captureId: shown.captureId, node: id };
    if (body !== undefined) folded.body = body;
    host.request("tvls/graph/fold", folded, signal).then(
      (fold) => {
        if (!signal.aborted) store.set({ fold });
      },
      (error) => {
        if (!signal.aborted) store.set({ detailsTrouble: describe(error).message });
      },
    );
  }

  /** Asks for the labels of the nodes that the details name and the picture does not show. */
  async function nameNodes(details: p.NodeDetails, signal: AbortSignal): Promise<void> {
    const { shown } = get();
    if (!shown) return;
    const body = shown.bodies.at(-1)?.id;
    const mentioned = [
      ...(details.operands ?? []).map((operand) => operand.producer),
      ...(details.results ?? []).flatMap((result) => (result.uses ?? []).slice(0, USES_LISTED).map((use) => use.node)),
    ];
    const unknown = [...new Set(mentioned)].filter(
      (id): id is string => id !== undefined && !shown.picture.boxes.has(id) && !get().names.has(id),
    );
    const found = await Promise.allSettled(
      unknown.slice(0, NAMES_AT_ONCE).map(async (node) => {
        const params: p.NodeParams = { captureId: shown.captureId, node };
        if (body !== undefined) params.body = body;
        return [node, (await host.request("tvls/graph/node", params, signal)).node.label] as const;
      }),
    );
    if (signal.aborted) return;
    // A label that did not come leaves its link with a general name.
    const labels = found.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    if (labels.length) store.set({ names: new Map([...get().names, ...labels]) });
  }

  async function showSource(location: p.Location): Promise<void> {
    try {
      const { shown, place } = await host.request("tvls/canvas/showSource", { location });
      store.set({ said: shown ? `${get().editor ?? "The editor"} shows ${place}.` : `Source: ${place}` });
    } catch (error) {
      store.set({ said: describe(error).message });
    }
  }

  return { select, point, source, look, showSource };
}
