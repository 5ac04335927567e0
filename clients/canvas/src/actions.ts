// What a person can do. Each action asks the host and changes the state; an answer that was overtaken is dropped.
import { firstView } from "./firstview";
import { type Host, HostLost, RequestError } from "./host";
import { layout } from "./layout";
import type { Measure } from "./measure";
import { layoutEdges, layoutNodes, picture } from "./model";
import type * as p from "./protocol";
import type { BodyStep, Noise, Overlay, Shown, State, Store, Trouble } from "./state";
import { plural } from "./text";

export interface Actions {
  /** Takes over what the host says there is to show. */
  adopt(canvas: p.CanvasState): Promise<void>;
  /** Traces the target, or takes the fresh capture that is there. */
  open(options?: { refresh?: boolean }): Promise<void>;
  openProfile(profile: string): Promise<void>;
  cancel(): void;
  /** Shows a capture that is there already, keeping what was open in the one before. */
  show(capture: p.CaptureInfo): Promise<void>;
  toggle(id: string): Promise<void>;
  /** Opens, or closes, every scope that is visible. */
  expandAll(): Promise<void>;
  collapseAll(): Promise<void>;
  enterBody(node: string, body: string): Promise<void>;
  /** To the graph that `depth` bodies were entered from: 0 is the program. */
  leaveBody(depth: number): Promise<void>;
  step(node: string, by: number): Promise<void>;
  showInstance(node: string, instance: number): Promise<void>;
  select(id: string | undefined): void;
  /** Selects a node, and has the editor show where it comes from. */
  point(id: string): void;
  /** Shows an error of the host in the place of what was asked for. */
  failed(error: unknown): Promise<void>;
  /** A capture became stale, or fresh again; a stale one is traced again once its sources are saved. */
  captureState(info: p.CaptureInfo): Promise<void>;
  showSource(location: p.Location): Promise<void>;
  markNodes(marks: p.MarkedNodes): Promise<void>;
  /** Selects a node that may lie behind closed scopes. */
  find(hit: { node: string; scopes?: string[]; body?: string; instances?: Record<string, number> }): Promise<boolean>;
  /** The same for a node of the graph that is shown, of which only the id is known. */
  findById(id: string): Promise<boolean>;
  search(query: string): void;
  walkHits(by: number): Promise<void>;
  setNoise(word: string, noise: Noise): Promise<void>;
  setOverlay(overlay: Overlay): void;
  more(): Promise<void>;
}

const SEARCH_PAUSE_MS = 120;
/** Traces that took longer are not repeated at every save. */
const FOLLOWED_MS = 10_000;
const MARK_MS = 6000;
/** So many parameters among the inputs are a forest of boxes, not a part of the picture. */
const MANY_PARAMETERS = 8;
const EVERYTHING = 2000;
const NAMES_AT_ONCE = 40;
/** Uses of a result that the inspector lists. */
export const USES_LISTED = 12;

export function createActions(host: Host, store: Store, measure: Measure): Actions {
  const running = new Map<"open" | "view" | "look" | "search", AbortController>();
  let searchTimer: ReturnType<typeof setTimeout> | undefined;
  let markTimer: ReturnType<typeof setTimeout> | undefined;
  let tokens = 0;
  /** The state of the sources that was traced last without being asked to. */
  let followed: string | undefined;
  let lastTrace = 0;
  /** The node that was pointed at, until its details are there. */
  let pointed: string | undefined;

  const get = store.get;

  /** Begins a request of a kind of which only the newest counts. */
  function restart(kind: "open" | "view" | "look" | "search"): AbortController {
    running.get(kind)?.abort();
    const control = new AbortController();
    running.set(kind, control);
    return control;
  }

  function viewParams(state: State, captureId: string, bodies: readonly BodyStep[], expanded?: readonly string[]) {
    const body = bodies.at(-1)?.id;
    const params: p.GraphViewParams = {
      captureId,
      expanded: [...(expanded ?? state.expanded.get(body ?? "") ?? [])],
      fold: true,
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
    const control = restart("view");
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
      store.set({ ...change, capture: { ...capture, freshness: answer.freshness }, shown, trouble: undefined });
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

  async function fail(error: unknown): Promise<void> {
    const trouble = describe(error);
    // The server let go of the capture: the target is traced again, as the protocol asks for.
    if (trouble.kind === "captureGone" && get().open && !get().loading) return open();
    // A lost connection has a look of its own, and the request is made again after it.
    if (error instanceof HostLost) return;
    store.set({ trouble, loading: undefined });
    if (!get().shown) await preview();
  }

  async function open(options: { refresh?: boolean } = {}): Promise<void> {
    const what = get().open;
    if (!what) return;
    const control = restart("open");
    tokens += 1;
    const token = `canvas-${tokens}`;
    const off = host.onProgress(token, (report) => {
      const loading = get().loading;
      if (loading && report.message) store.set({ loading: { ...loading, phase: report.message } });
    });
    store.set({ loading: { phase: "start", since: performance.now() }, trouble: undefined });
    try {
      const params: p.OpenParams = { ...what, workDoneToken: token };
      if (options.refresh) params.refresh = true;
      const began = performance.now();
      const { capture } = await host.request("tvls/graph/open", params, control.signal);
      lastTrace = performance.now() - began;
      if (control.signal.aborted) return;
      store.set({ loading: undefined });
      await show(capture);
    } catch (error) {
      if (control !== running.get("open")) return;
      store.set({ loading: undefined });
      const cancelled = control.signal.aborted || (error instanceof RequestError && error.code === -32800);
      if (cancelled) store.set({ said: "Cancelled." });
      else await fail(error);
    } finally {
      off();
    }
  }

  async function adopt(canvas: p.CanvasState): Promise<void> {
    const { error, capture } = canvas;
    store.set({ open: canvas.open, editor: canvas.editor, loading: undefined });
    if (capture) await show(capture);
    if (error) await fail(new RequestError(error.code, error.message, error.data));
    // Nothing was tried yet, as in a page whose server came back.
    else if (!capture) await open();
  }

  /** What the source declares, for the states before a trace. */
  async function preview(): Promise<void> {
    const target = get().open?.target;
    if (!target || get().preview) return;
    try {
      store.set({ preview: await host.request("tvls/target/preview", { target }) });
    } catch (error) {
      // The error of the trace stands there already; a missing preview is no second one.
      if (error instanceof HostLost) return;
      store.set({ said: `There is no preview: ${describe(error).message}` });
    }
  }

  async function captureState(info: p.CaptureInfo): Promise<void> {
    store.set({ capture: info });
    const { retraceable } = info;
    if (info.freshness === "fresh" || retraceable === undefined || retraceable === followed) return;
    // What took long is traced again when the person says so, and what just failed when it was changed.
    if (get().loading || lastTrace > FOLLOWED_MS) return;
    followed = retraceable;
    await open();
  }

  async function showSource(location: p.Location): Promise<void> {
    try {
      const { shown, place } = await host.request("tvls/canvas/showSource", { location });
      store.set({ said: shown ? `${get().editor ?? "The editor"} shows ${place}.` : `Source: ${place}` });
    } catch (error) {
      store.set({ said: describe(error).message });
    }
  }

  /** Marks the nodes of the editor's cursor, and shows the first where it is not to be seen. */
  async function markNodes(marks: p.MarkedNodes): Promise<void> {
    const { shown } = get();
    if (!shown || marks.captureId !== shown.captureId) return;
    const body = shown.bodies.at(-1)?.id;
    const ids = new Set<string>();
    for (const hit of marks.nodes) {
      if (hit.body !== body) continue;
      // What is not drawn is marked at the closed scope around it.
      const at = [...(hit.scopes ?? []), hit.node].filter((id) => shown.picture.boxes.has(id)).at(-1);
      if (at !== undefined) ids.add(at);
    }
    store.set({ marked: ids, said: marks.total ? `${plural(marks.total, "node")} at the cursor.` : "" });
  }

  async function show(capture: p.CaptureInfo): Promise<void> {
    const { shown, capture: before } = get();
    if (shown?.captureId === capture.captureId) {
      store.set({ capture, trouble: undefined });
      return;
    }
    const bodies = shown?.bodies ?? [];
    const follows = before?.uri === capture.uri && before?.name === capture.name;
    const change: Partial<State> = follows
      ? {}
      : { expanded: new Map(), instances: new Map(), selected: undefined, details: undefined };
    const drawn = await refreshView({ capture, bodies: follows ? bodies : [], change });
    // What was opened may be gone from the new program: a body that is not there leads back to the program.
    if (!drawn && get().trouble?.kind === "nodeNotFound" && bodies.length) await refreshView({ capture, bodies: [] });
    const now = get();
    if (now.shown?.captureId !== capture.captureId) return;
    if (now.selected && !now.shown.picture.boxes.has(now.selected)) select(undefined);
    else if (now.selected) look(now.selected);
    if (now.search.query) search(now.search.query);
    store.set({ said: `${capture.name}: ${plural(capture.operations, "operation")}, ${capture.evidence}.` });
    const earlier = capture.previous ?? (follows ? before?.captureId : undefined);
    if (follows && shown && earlier) await mark(earlier, capture.captureId);
  }

  /** Marks what a re-trace changed, for a moment. */
  async function mark(before: string, after: string): Promise<void> {
    try {
      const found = await host.request("tvls/graph/compare", { before, after });
      if (get().shown?.captureId !== after) return;
      const nodes = [...(found.added ?? []), ...(found.changed ?? [])].flatMap((change) => [
        change.node,
        ...(change.scopes ?? []),
      ]);
      store.set({
        changed: new Set([...nodes, ...Object.keys(found.scopes ?? {})]),
        changes: found.same ? "Re-traced: nothing changed." : `Re-traced: ${found.summary}.`,
      });
      clearTimeout(markTimer);
      markTimer = setTimeout(() => store.set({ changed: new Set(), changes: "" }), MARK_MS);
    } catch (error) {
      // The new graph is there all the same; what changed in it cannot be told, as where the capture before is gone.
      if (error instanceof HostLost) return;
      store.set({ said: `What changed is not known: ${describe(error).message}` });
    }
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
    await refreshView({ change: withScopes(new Set([...scopes(), ...closed])), anchor: selected });
  }

  async function collapseAll(): Promise<void> {
    await refreshView({ change: withScopes(new Set()), anchor: undefined });
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
      store.set({ said: `${role} of ${step.label}. Nothing says that it ran.` });
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

  function point(id: string): void {
    select(id);
    pointed = id;
    const { details, selected } = get();
    if (details && selected === id) void showPointed(details);
  }

  /** In the editor: the innermost line of the workspace. A page without an editor has nowhere to go. */
  async function showPointed(details: p.NodeDetails): Promise<void> {
    pointed = undefined;
    const location = details.frames?.find((frame) => frame.workspace && frame.location)?.location;
    if (location && get().editor !== undefined) await showSource(location);
  }

  function select(id: string | undefined): void {
    if (id !== undefined && !get().shown?.picture.boxes.has(id)) return;
    if (id === get().selected) return;
    running.get("look")?.abort();
    store.set({ selected: id, details: undefined, detailsTrouble: undefined, fold: undefined, names: new Map() });
    if (id !== undefined) look(id);
  }

  /** Fetches the details of a node. */
  function look(id: string): void {
    const control = restart("look");
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
        if (pointed === id) void showPointed(details);
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

  async function find(hit: {
    node: string;
    scopes?: string[];
    body?: string;
    instances?: Record<string, number>;
  }): Promise<boolean> {
    const { shown } = get();
    if (!shown) return false;
    const here = shown.bodies.at(-1)?.id ?? "";
    const body = hit.body ?? "";
    let bodies = shown.bodies;
    if (body !== here) {
      const known = shown.bodies.findIndex((step) => step.id === body);
      if (body === "") bodies = [];
      else if (known >= 0) bodies = shown.bodies.slice(0, known + 1);
      else bodies = [{ id: body, node: "", label: "body", role: "body" }];
    }
    const open = new Set([...(get().expanded.get(body) ?? []), ...(hit.scopes ?? [])]);
    const instances = new Map([...get().instances, ...Object.entries(hit.instances ?? {})]);
    const change: Partial<State> = { expanded: new Map(get().expanded).set(body, open), instances };
    const there = body === here && shown.picture.boxes.has(hit.node) && !Object.keys(hit.instances ?? {}).length;
    if (!there && !(await refreshView({ change, bodies, anchor: get().selected }))) return false;
    if (!get().shown?.picture.boxes.has(hit.node)) {
      // It is there, but hidden as noise or behind the last page.
      const noise = get().noise;
      const hides = Object.values(noise).includes("hide");
      if (hides) {
        const shownAll = Object.fromEntries(
          Object.entries(noise).map(([word, value]) => [word, value === "hide" ? "dim" : value] as const),
        );
        if (!(await refreshView({ change: { ...change, noise: shownAll }, bodies }))) return false;
      }
      const now = get().shown;
      if (now && !now.picture.boxes.has(hit.node) && now.total > now.nodes.length) {
        if (!(await refreshView({ change: { limit: EVERYTHING }, bodies }))) return false;
      }
    }
    if (!get().shown?.picture.boxes.has(hit.node)) {
      store.set({ said: "That node is not among those drawn: close some scopes first." });
      return false;
    }
    select(hit.node);
    return true;
  }

  async function findById(id: string): Promise<boolean> {
    const { shown } = get();
    if (!shown) return false;
    const body = shown.bodies.at(-1)?.id;
    const inBody = body === undefined ? {} : { body };
    const scopes: string[] = [];
    try {
      for (let at = id; ; ) {
        const { node } = await host.request("tvls/graph/node", { captureId: shown.captureId, node: at, ...inBody });
        if (!node.parent || scopes.includes(node.parent)) break;
        at = node.parent;
        scopes.unshift(at);
      }
      const instances = await instancesOf(shown, scopes, inBody);
      return await find({ node: id, scopes, instances, ...inBody });
    } catch (error) {
      await fail(error);
      return false;
    }
  }

  /** Which neighbours folded nodes must show for these scopes to be visible. */
  async function instancesOf(shown: Shown, scopes: readonly string[], inBody: { body?: string }) {
    const instances: Record<string, number> = {};
    for (const node of shown.nodes) {
      if (!node.fold) continue;
      const params = { captureId: shown.captureId, node: node.id, ...inBody };
      const fold = await host.request("tvls/graph/fold", params);
      const at = fold.instances.findIndex((instance) => scopes.includes(instance.node));
      if (at >= 0) instances[node.id] = at;
    }
    return instances;
  }

  function search(query: string): void {
    running.get("search")?.abort();
    clearTimeout(searchTimer);
    const { shown } = get();
    if (!query.trim() || !shown) {
      store.set({ search: { query, hits: [], total: 0, at: -1, running: false } });
      return;
    }
    store.set({ search: { ...get().search, query, running: true } });
    searchTimer = setTimeout(() => void run(), SEARCH_PAUSE_MS);
    const run = async () => {
      const control = restart("search");
      try {
        const found = await host.request(
          "tvls/graph/search",
          { captureId: shown.captureId, query, limit: 200 },
          control.signal,
        );
        if (control.signal.aborted) return;
        store.set({
          search: { query, hits: found.nodes, total: found.total, at: -1, running: false },
          said: found.total ? `${plural(found.total, "hit")}.` : "Nothing found.",
        });
      } catch (error) {
        if (control.signal.aborted) return;
        store.set({ search: { query, hits: [], total: 0, at: -1, running: false }, said: describe(error).message });
      }
    };
  }

  async function walkHits(by: number): Promise<void> {
    const { hits, at } = get().search;
    if (hits.length === 0) return;
    const next = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
    const hit = hits[next];
    if (!hit) return;
    store.set({ search: { ...get().search, at: next } });
    await find(hit);
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
    adopt,
    captureState,
    failed: fail,
    showSource,
    markNodes,
    open,
    openProfile: (profile) => {
      store.set({ open: { ...get().open, profile } });
      return open();
    },
    cancel: () => running.get("open")?.abort(),
    show,
    toggle,
    expandAll,
    collapseAll,
    enterBody,
    leaveBody,
    step,
    showInstance,
    select,
    point,
    find,
    findById,
    search,
    walkHits,
    setNoise,
    setOverlay: (overlay) => store.set({ overlay }),
    more: async () => {
      await refreshView({ change: { limit: Math.min(EVERYTHING, get().limit + 500) }, anchor: get().selected });
    },
  };
}

export function describe(error: unknown): Trouble {
  if (error instanceof RequestError) {
    return error.data
      ? { kind: error.data.kind, message: error.message, data: error.data }
      : { kind: "unknown", message: error.message };
  }
  return { kind: "unknown", message: error instanceof Error ? error.message : String(error) };
}
