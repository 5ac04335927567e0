// Which part of a capture is shown: scopes that are open, bodies that were entered, instances of repeated blocks, noise.

import { firstView } from "../firstview";
import type { Host } from "../host";
import { layout } from "../layout";
import type { Measure } from "../measure";
import { layoutEdges, layoutNodes, picture } from "../model";
import type * as p from "../protocol";
import type { BodyStep, Noise, Shown, State, Store } from "../state";
import { bodyText, plural } from "../text";
import { newest } from "./newest";

/** So many parameters among the inputs are a forest of boxes, not a part of the picture. */
const MANY_PARAMETERS = 8;
/** The most that is drawn at once. */
export const EVERYTHING = 2000;
const MORE = 500;

export interface Views {
  /** Asks for the view that the state describes, and shows it. Answers whether it is shown: not failed, not overtaken. */
  refresh(options: {
    capture?: p.CaptureInfo;
    bodies?: BodyStep[];
    anchor?: string | undefined;
    change?: Partial<State>;
  }): Promise<boolean>;
  toggle(id: string): Promise<void>;
  /** Opens every scope that is visible. */
  expandAll(): Promise<void>;
  collapseAll(): Promise<void>;
  enterBody(node: string, body: string): Promise<void>;
  /** To the graph that `depth` bodies were entered from: 0 is the program. */
  leaveBody(depth: number): Promise<void>;
  step(node: string, by: number): Promise<void>;
  showInstance(node: string, instance: number): Promise<void>;
  setNoise(word: string, noise: Noise): Promise<void>;
  more(): Promise<void>;
}

export interface ViewsNeed {
  failed(error: unknown): Promise<void>;
  select(id: string | undefined): void;
  /** Fetches the details of a node again. */
  look(id: string): void;
}

export function createViews(host: Host, store: Store, measure: Measure, need: ViewsNeed): Views {
  const requests = newest<"view">();
  const { get } = store;
  const { failed: fail, select, look } = need;

  function viewParams(state: State, captureId: string, bodies: readonly BodyStep[], expanded?: readonly string[]) {
    const body = bodies.at(-1)?.id;
    const params: p.GraphViewParams = {
      captureId,
      expanded: [...(expanded ?? state.expanded.get(body ?? "") ?? [])],
      fold: true,
      structures: true,
      limit: state.limit,
    };
    if (body !== undefined) params.body = body;
    if (state.instances.size) params.instances = Object.fromEntries(state.instances);
    const hide = Object.keys(state.noise).filter((word) => state.noise[word] === "hide");
    if (hide.length) params.hide = hide;
    return params;
  }

  /** Asks for the view that the state describes, and shows it. Answers whether it was not overtaken. */
  async function refreshView(options: {
    capture?: p.CaptureInfo;
    bodies?: BodyStep[];
    anchor?: string | undefined;
    change?: Partial<State>;
  }): Promise<boolean> {
    const control = requests.begin("view");
    const state = { ...get(), ...options.change };
    const capture = options.capture ?? state.capture;
    if (!capture) return false;
    const bodies = options.bodies ?? state.shown?.bodies ?? [];
    const { signal } = control;
    try {
      const body = bodies.at(-1)?.id ?? "";
      const change: Partial<State> = { ...options.change };
      let answer: p.GraphViewResult;
      if (state.expanded.has(body)) {
        answer = await host.request("tvls/graph/view", viewParams(state, capture.captureId, bodies), signal);
      } else {
        const first = await firstView((expanded) =>
          host.request("tvls/graph/view", viewParams(state, capture.captureId, bodies, expanded), signal),
        );
        answer = first.view;
        change.expanded = new Map(state.expanded).set(body, new Set(first.expanded));
        if (body === "" && (answer.noise?.parameter ?? 0) > MANY_PARAMETERS && state.noise.parameter === "show") {
          change.noise = { ...state.noise, parameter: "hide" };
          const next = { ...state, ...change };
          answer = await host.request("tvls/graph/view", viewParams(next, capture.captureId, bodies), signal);
        }
      }
      if (signal.aborted) return false;
      const shown = compose(capture.captureId, bodies, answer, options.anchor);
      // What was said of the view before is no news of this one.
      const told = { capture: { ...capture, freshness: answer.freshness }, shown, trouble: undefined, said: "" };
      store.set({ ...change, ...told });
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      await fail(error);
      return false;
    }
  }

  function compose(captureId: string, bodies: BodyStep[], view: p.GraphViewResult, anchor: string | undefined): Shown {
    const drawn = picture(view.nodes, view.edges, measure);
    const before = get().shown;
    const sameGraph = before && before.bodies.at(-1)?.id === bodies.at(-1)?.id;
    return {
      captureId,
      bodies,
      nodes: view.nodes,
      edges: view.edges,
      total: view.total,
      picture: drawn,
      layout: layout(layoutNodes(drawn), layoutEdges(drawn, measure), sameGraph ? { previous: before.layout } : {}),
      noise: view.noise ?? {},
      hidden: view.hidden ?? 0,
      anchor,
    };
  }

  function scopes(): ReadonlySet<string> {
    return get().expanded.get(get().shown?.bodies.at(-1)?.id ?? "") ?? new Set();
  }

  function withScopes(next: ReadonlySet<string>): Partial<State> {
    return { expanded: new Map(get().expanded).set(get().shown?.bodies.at(-1)?.id ?? "", next) };
  }

  async function toggle(id: string): Promise<void> {
    const box = get().shown?.picture.boxes.get(id);
    if (!box?.expandable) return;
    const next = new Set(scopes());
    if (box.expanded) next.delete(id);
    else next.add(id);
    if (await refreshView({ change: withScopes(next), anchor: id })) {
      const now = get().shown;
      const inside = now?.nodes.filter((node) => node.parent === id).length ?? 0;
      store.set({
        said: box.expanded ? `${box.title} closed.` : `${box.title} opened: ${plural(inside, "node")} inside.`,
      });
    }
  }

  async function expandAll(): Promise<void> {
    const { shown, selected } = get();
    const closed = shown?.nodes.filter((node) => node.kind === "scope" && !node.expanded).map((node) => node.id) ?? [];
    if (!(await refreshView({ change: withScopes(new Set([...scopes(), ...closed])), anchor: selected }))) return;
    store.set({ said: closed.length ? `${plural(closed.length, "scope")} opened.` : "All that is visible is open." });
  }

  async function collapseAll(): Promise<void> {
    if (!(await refreshView({ change: withScopes(new Set()), anchor: undefined }))) return;
    store.set({ said: "All closed." });
    const { shown, selected } = get();
    if (selected && !shown?.picture.boxes.has(selected)) select(undefined);
  }

  async function enterBody(node: string, body: string): Promise<void> {
    const { shown } = get();
    if (!shown) return;
    const box = shown.picture.boxes.get(node);
    const role = box?.node.bodies?.find((known) => known.id === body)?.role ?? "body";
    const step: BodyStep = { id: body, node, label: box?.node.label ?? "boundary", role };
    if (await refreshView({ bodies: [...shown.bodies, step] })) {
      select(undefined);
      store.set({ said: `${role} of ${step.label}: ${bodyText(role).what}, ${bodyText(role).ran}.` });
    }
  }

  async function leaveBody(depth: number): Promise<void> {
    const { shown } = get();
    const from = shown?.bodies[depth];
    if (!shown || !from) return;
    if (await refreshView({ bodies: shown.bodies.slice(0, depth), anchor: from.node })) select(from.node);
  }

  async function showInstance(node: string, instance: number): Promise<void> {
    const fold = get().shown?.picture.boxes.get(node)?.node.fold;
    if (!fold) return;
    const at = ((instance % fold.count) + fold.count) % fold.count;
    const instances = new Map(get().instances).set(node, at);
    if (await refreshView({ change: { instances }, anchor: node })) {
      const { selected, shown } = get();
      if (selected === node) look(node);
      else if (selected && !shown?.picture.boxes.has(selected)) select(node);
      store.set({ said: `${at + 1} of ${fold.count}` });
    }
  }

  async function step(node: string, by: number): Promise<void> {
    const fold = get().shown?.picture.boxes.get(node)?.node.fold;
    if (fold) await showInstance(node, (fold.instance ?? 0) + by);
  }

  async function setNoise(word: string, noise: Noise): Promise<void> {
    const before = get().noise[word];
    const change = { noise: { ...get().noise, [word]: noise } };
    if (before !== "hide" && noise !== "hide") store.set(change);
    else await refreshView({ change, anchor: get().selected });
    const { selected, shown } = get();
    if (selected && !shown?.picture.boxes.has(selected)) select(undefined);
  }

  return {
    refresh: refreshView,
    toggle,
    expandAll,
    collapseAll,
    enterBody,
    leaveBody,
    step,
    showInstance,
    setNoise,
    more: async () => {
      await refreshView({ change: { limit: Math.min(EVERYTHING, get().limit + MORE) }, anchor: get().selected });
    },
  };
}
