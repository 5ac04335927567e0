// What a person can do. Each action asks the host and changes the state; an answer that was overtaken is dropped.
import { type Host, HostLost, RequestError } from "../host";
import type { Measure } from "../measure";
import type * as p from "../protocol";
import type { Overlay, State, Store } from "../state";
import { type Measurement, measured, plural } from "../text";
import { describe, REQUEST_CANCELLED } from "../trouble";
import { createFinding, type Finding } from "./find";
import { createSelection, type Selection } from "./look";
import { newest } from "./newest";
import { createViews, type Views } from "./view";

export interface Actions extends Omit<Views, "refresh">, Omit<Selection, "look">, Finding {
  /** Takes over what the host says there is to show. */
  adopt(canvas: p.CanvasState): Promise<void>;
  /** Shows an error of the host in the place of what was asked for. */
  failed(error: unknown): Promise<void>;
  /** Traces the target, or takes the fresh capture that is there; `measure`: what is measured while it runs. */
  open(options?: { refresh?: boolean; measure?: Measurement[] }): Promise<void>;
  openProfile(profile: string): Promise<void>;
  cancel(): void;
  /** Shows a capture that is there already, keeping what was open in the one before. */
  show(capture: p.CaptureInfo): Promise<void>;
  /** A capture became stale, or fresh again; a stale one is traced again once its sources are saved. */
  captureState(info: p.CaptureInfo): Promise<void>;
  markNodes(marks: p.MarkedNodes): Promise<void>;
  /** Marks what is different from the capture before, until something else is done. */
  compare(): Promise<void>;
  setOverlay(overlay: Overlay): void;
}

/** Traces that took longer are not repeated at every save. */
const FOLLOWED_MS = 10_000;
const MARK_MS = 6000;

/** What was asked for once is measured again, as long as the page is of the same target. */
function measuredBefore(what: p.OpenParams, before: p.CaptureInfo | undefined): Measurement[] {
  const same = before && [undefined, before.name].includes(what.target?.name);
  return same && [undefined, before.profile].includes(what.profile) ? measured(before) : [];
}

export function createActions(host: Host, store: Store, measure: Measure): Actions {
  const requests = newest<"open">();
  const { get } = store;
  let markTimer: ReturnType<typeof setTimeout> | undefined;
  let tokens = 0;
  /** The state of the sources that was traced last without being asked to. */
  let followed: string | undefined;
  let lastTrace = 0;

  const { look, ...selection } = createSelection(host, store);
  const { select } = selection;
  const { refresh, ...views } = createViews(host, store, measure, { failed: fail, select, look });
  const { search, ...finding } = createFinding(host, store, { failed: fail, select, views: { refresh, ...views } });

  async function fail(error: unknown): Promise<void> {
    const trouble = describe(error);
    // The server let go of the capture: the target is traced again, as the protocol asks for.
    if (trouble.kind === "captureGone" && get().open && !get().loading) return open();
    // A lost connection has a look of its own, and the request is made again after it.
    if (error instanceof HostLost) return;
    store.set({ trouble, loading: undefined });
    if (!get().shown) await preview();
  }

  async function open(options: { refresh?: boolean; measure?: Measurement[] } = {}): Promise<void> {
    const what = get().open;
    if (!what) return;
    const stale = get().capture?.freshness === "stale";
    const control = requests.begin("open");
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
      const measure = options.measure ?? measuredBefore(what, get().capture);
      if (measure.length) params.measure = measure;
      // The first one may have waited for a Python with the libraries to start: it tells nothing of the next.
      const first = get().capture === undefined;
      const began = performance.now();
      const { capture } = await host.request("tvls/graph/open", params, control.signal);
      lastTrace = first ? 0 : performance.now() - began;
      if (control.signal.aborted) return;
      store.set({ loading: undefined });
      await show(capture);
    } catch (error) {
      if (!requests.is("open", control)) return;
      store.set({ loading: undefined });
      const cancelled = control.signal.aborted || (error instanceof RequestError && error.code === REQUEST_CANCELLED);
      if (cancelled) store.set({ said: "Cancelled." });
      else {
        await fail(error);
        if (stale) await recheck();
      }
    } finally {
      off();
    }
  }

  /** While a trace ran, the code may have become again what the graph on the page is of. */
  async function recheck(): Promise<void> {
    const captureId = get().shown?.captureId;
    if (captureId === undefined || !get().trouble) return;
    try {
      const info = await host.request("tvls/graph/info", { captureId });
      if (info.freshness === "fresh" && get().shown?.captureId === captureId) await captureState(info);
    } catch (error) {
      // What failed is told already; the state of the graph before it comes with the next notification.
      if (!(error instanceof HostLost)) store.set({ said: describe(error).message });
    }
  }

  async function adopt(canvas: p.CanvasState): Promise<void> {
    const { error, capture, phase } = canvas;
    const since = get().loading?.since ?? performance.now();
    const loading = phase === undefined ? undefined : { phase, since, elsewhere: true };
    store.set({ open: canvas.open, editor: canvas.editor, loading, ...(loading && { trouble: undefined }) });
    if (capture) await show(capture);
    if (error) await fail(new RequestError(error.code, error.message, error.data));
    // Nothing was tried yet, as in a page whose server came back; a form that the person asked for is left to them.
    else if (!capture && !loading && !get().editing) await open();
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
    // Fresh again: what failed in between was code that is gone.
    const { trouble } = get();
    const overcome = info.freshness === "fresh" && trouble && trouble.kind !== "notTrusted";
    store.set(overcome ? { capture: info, trouble: undefined } : { capture: info });
    const { retraceable } = info;
    if (info.freshness === "fresh" || retraceable === undefined || retraceable === followed) return;
    // What took long is traced again when the person says so, and what just failed when it was changed.
    if (get().loading || lastTrace > FOLLOWED_MS) return;
    followed = retraceable;
    await open();
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
    // Without a capture before, what is expanded is what was remembered of the same target.
    const follows = before ? before.uri === capture.uri && before.name === capture.name : get().expanded.size > 0;
    const change: Partial<State> = follows
      ? {}
      : { expanded: new Map(), instances: new Map(), selected: undefined, details: undefined };
    const drawn = await refresh({ capture, bodies: follows ? bodies : [], change });
    // What was opened may be gone from the new program: a body that is not there leads back to the program.
    if (!drawn && get().trouble?.kind === "nodeNotFound" && bodies.length) await refresh({ capture, bodies: [] });
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
  async function mark(before: string, after: string, lasting = false): Promise<void> {
    try {
      const found = await host.request("tvls/graph/compare", { before, after });
      if (get().shown?.captureId !== after) return;
      const nodes = [...(found.added ?? []), ...(found.changed ?? [])].flatMap((change) => [
        change.node,
        ...(change.scopes ?? []),
      ]);
      store.set({
        changed: new Set([...nodes, ...Object.keys(found.scopes ?? {})]),
        changes: `${lasting ? "Compared with the trace before" : "Re-traced"}: ${found.same ? "nothing changed" : found.summary}.`,
      });
      clearTimeout(markTimer);
      if (lasting) return;
      markTimer = setTimeout(() => store.set({ changed: new Set(), changes: "" }), MARK_MS);
    } catch (error) {
      // The new graph is there all the same; what changed in it cannot be told.
      if (error instanceof HostLost) return;
      const { kind, message } = describe(error);
      // A server that was started again knows nothing of the capture before: only who asked has to hear of it.
      if (kind === "captureGone" && !lasting) return;
      store.set({ said: `What changed is not known: ${message}` });
    }
  }

  async function compare(): Promise<void> {
    const { capture, shown } = get();
    if (!capture || !shown) return;
    if (capture.previous) await mark(capture.previous, capture.captureId, true);
    else store.set({ changes: "There is no earlier trace of this to compare with." });
  }

  return {
    ...selection,
    ...views,
    ...finding,
    search,
    adopt,
    failed: fail,
    open,
    openProfile: (profile) => {
      store.set({ open: { ...get().open, profile }, editing: false });
      return open();
    },
    cancel: () => requests.end("open"),
    show,
    captureState,
    markNodes,
    compare,
    setOverlay: (overlay) => store.set({ overlay }),
  };
}
