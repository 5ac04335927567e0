// Entry of the page: a host, a state, a picture and the panels around it.
import { render } from "preact";
import { createActions } from "./actions/actions";
import { exportGraph } from "./export/export";
import type { Host, Remembered } from "./host";
import { editorHost } from "./host/editor";
import { fileHost } from "./host/file";
import { pageId, WebSocketHost } from "./host/websocket";
import { keyAction } from "./keys";
import { browserMeasure } from "./measure";
import { type Scale, scale } from "./overlay";
import { App } from "./panels/app";
import { SetupForm } from "./panels/form";
import type { ExportKind } from "./panels/toolbar";
import type * as p from "./protocol";
import { createGraphView, type Decoration, type GraphView } from "./render/graph";
import { createStore, type Overlay, type State } from "./state";
import { walk } from "./walk";

/** As in the style sheet: in windows that are no wider, the inspector is at the bottom. */
const NARROW = 760;
const INSPECTOR_WIDTH = 340;

const root = document.getElementById("app");
if (root) void start(root);

async function start(root: HTMLElement): Promise<void> {
  const file = await fileHost();
  const host: Host = file ?? editorHost() ?? new WebSocketHost();
  const { editor } = host;
  const store = createStore();
  if (editor?.remembered) store.set(restored(editor.remembered));
  const actions = createActions(host, store, browserMeasure());
  const page = file || editor ? "" : pageId();

  let view: GraphView | undefined;
  let colours: Scale | undefined;

  const unhandled = (error: unknown) => {
    store.set({ said: error instanceof Error ? error.message : String(error) });
  };
  /** Runs an action; a fault of the page is said instead of being lost. */
  const run = (promise: Promise<unknown>) => void promise.catch(unhandled);

  function mount(element: HTMLElement | null): void {
    if (!element || view) return;
    view = createGraphView(element, {
      select: (id) => {
        if (id === undefined) actions.select(id);
        else actions.point(id);
        view?.element.focus({ preventScroll: true });
      },
      toggle: (id) => run(actions.toggle(id)),
      body: (node, body) => run(actions.enterBody(node, body)),
      step: (node, by) => run(actions.step(node, by)),
      zoomed: () => {},
    });
    // By keyboard there is a place to walk from; a press of the mouse says itself what it selects.
    view.element.addEventListener("focus", () => {
      const { shown, selected } = store.get();
      if (!view?.element.matches(":focus-visible")) return;
      if (!selected && shown) actions.select(shown.picture.boxes.keys().next().value);
    });
  }

  const goTo = file ? undefined : (frame: p.FrameInfo) => frame.location && run(actions.showSource(frame.location));
  const exports: ExportKind[] = file ? ["svg", "png", "json"] : ["svg", "png", "json", "html"];

  function panels(state: State): void {
    render(
      <App
        state={state}
        store={store}
        actions={actions}
        scale={colours}
        view={{
          fit: fitAll,
          readable: () => view?.readable(),
          zoom: (factor) => view?.zoom(factor),
        }}
        goTo={goTo}
        exports={exports}
        exportAs={(kind) => run(exportGraph(kind, host, store, view))}
        form={
          state.open && (
            <SetupForm
              host={host}
              open={state.open}
              opened={(profile) => run(actions.openProfile(profile))}
              completed={(complete) => complete !== store.get().setupComplete && store.set({ setupComplete: complete })}
            />
          )
        }
        mount={mount}
      />,
      root,
    );
  }

  /**
   * The right and the bottom of the picture that the inspector has, or will have when something is selected; and the top
   * that a failure stands over. Other banners come and go too fast for anything to make room.
   */
  function covered(state: State): [right: number, bottom: number, top: number] {
    const failure = root.querySelector(".canvas-frame > details.banner > summary")?.getBoundingClientRect();
    const frame = root.querySelector(".canvas-frame")?.getBoundingClientRect();
    const top = failure && frame ? failure.bottom - frame.top : 0;
    if (!state.inspector) return [0, 0, top];
    const aside = root.querySelector("aside")?.getBoundingClientRect();
    if (window.innerWidth > NARROW) return [aside?.width ?? INSPECTOR_WIDTH, 0, top];
    return [0, aside?.height ?? 0, top];
  }

  function fitAll(): void {
    view?.cover(...covered(store.get()));
    view?.fit();
  }

  function decoration(state: State): Decoration {
    const dimmed = new Set<string>();
    for (const node of state.shown?.nodes ?? []) {
      if (node.noise && state.noise[node.noise] === "dim") dimmed.add(node.id);
    }
    const body = state.shown?.bodies.at(-1)?.id;
    return {
      selected: state.selected,
      hits: new Set(state.search.hits.filter((hit) => hit.body === body).map((hit) => hit.node)),
      marked: state.marked,
      changed: state.changed,
      dimmed,
      colours: colours?.steps ?? new Map(),
    };
  }

  store.subscribe((state, before) => {
    if (state.shown !== before.shown || state.overlay !== before.overlay) {
      colours = state.shown && scale(state.overlay, state.shown.picture);
    }
    panels(state);
    if (!view) return;
    const drawn = state.shown !== before.shown;
    view.cover(...covered(state));
    if (drawn && state.shown) view.draw(state.shown, graphLabel(state), state.shown.anchor);
    else if (drawn) view.clear();
    view.decorate(decoration(state));
    if (state.selected !== undefined && (state.selected !== before.selected || (drawn && !state.shown?.anchor))) {
      view.reveal(state.selected);
    }
    if (editor && state.open && state.shown && KEPT.some((part) => state[part] !== before[part])) {
      editor.remember(remembered(state, state.open));
    }
    if (state.capture?.name !== before.capture?.name && state.capture)
      document.title = `${state.capture.name} · TensorViz`;
  });

  function leaveForm(event: Event): void {
    event.preventDefault();
    store.set({ editing: false });
    view?.element.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (event.defaultPrevented || target.closest("input, select, textarea, dialog, summary")) return;
    const inPicture = !target.closest("button, a, aside");
    const action = keyAction(event, inPicture);
    if (!action || (!store.get().shown && action.do !== "help")) return;
    if (store.get().editing) {
      if (action.do === "escape") leaveForm(event);
      // Of the picture behind the form nothing is to be seen.
      if (action.do !== "help" && action.do !== "search") return;
    }
    event.preventDefault();
    const { shown, selected } = store.get();
    const box = selected === undefined ? undefined : shown?.picture.boxes.get(selected);
    switch (action.do) {
      case "walk":
        if (shown) actions.select(walk(shown.picture, shown.layout.boxes, selected, action.to) ?? selected);
        break;
      case "pan":
        view?.pan(action.dx, action.dy);
        break;
      case "zoom":
        view?.zoom(action.factor);
        break;
      case "step":
        if (box) run(actions.step(foldAround(store.get(), box.id) ?? box.id, action.by));
        break;
      case "hit":
        run(actions.walkHits(action.by));
        break;
      case "activate": {
        const body = box?.node.bodies?.[0]?.id;
        if (box?.expandable) run(actions.toggle(box.id));
        else if (box && body !== undefined) run(actions.enterBody(box.id, body));
        break;
      }
      case "parent":
        if (box?.parent) actions.select(box.parent);
        else if (shown?.bodies.length) run(actions.leaveBody(shown.bodies.length - 1));
        break;
      case "search":
        root.querySelector<HTMLInputElement>("#search")?.select();
        root.querySelector<HTMLInputElement>("#search")?.focus();
        break;
      case "fit":
        fitAll();
        break;
      case "readable":
        view?.readable();
        break;
      case "source":
        if (goTo) actions.source();
        break;
      case "help":
        store.set({ help: true });
        break;
      case "inspector":
        store.set({ inspector: !store.get().inspector });
        break;
      case "expandAll":
        run(actions.expandAll());
        break;
      case "collapseAll":
        run(actions.collapseAll());
        break;
      case "escape":
        actions.select(undefined);
        break;
    }
  });

  editor?.onCommand((command) => {
    if (command.do === "export") run(exportGraph(command.kind, host, store, view));
    else if (command.do === "refresh") run(actions.open({ refresh: true }));
    else if (command.do === "compare") run(actions.compare());
    else store.set({ editing: true });
  });

  async function attach(): Promise<void> {
    try {
      await actions.adopt(await host.request("tvls/canvas/attach", { page }));
    } catch (error) {
      run(actions.failed(error));
    }
  }

  host.onStatus((status) => {
    store.set({ host: status, hostReason: host.reason });
    if (status === "connected") run(attach());
  });
  host.onNotification("$/tvls/canvas/show", (canvas) => {
    if (canvas.phase === undefined) store.set({ editing: false });
    run(actions.adopt(canvas));
  });
  host.onNotification("$/tvls/canvas/mark", (marks) => run(actions.markNodes(marks)));
  host.onNotification("$/tvls/captureState", (info) => {
    if (info.captureId === store.get().shown?.captureId) run(actions.captureState(info));
  });
  window.addEventListener("unhandledrejection", (event) => unhandled(event.reason));
  store.set({ host: host.status, hostReason: host.reason, saved: file !== undefined });
  if (host.status === "connected") await attach();
}

const KEPT = ["open", "shown", "expanded", "instances", "noise", "overlay", "selected"] as const;

function remembered(state: State, open: p.OpenParams): Remembered {
  const kept: Remembered = {
    open,
    expanded: Object.fromEntries([...state.expanded].map(([body, scopes]) => [body, [...scopes]])),
    instances: Object.fromEntries(state.instances),
    noise: { ...state.noise },
    overlay: state.overlay,
  };
  if (state.selected !== undefined) kept.selected = state.selected;
  return kept;
}

function restored(kept: Remembered): Partial<State> {
  return {
    expanded: new Map(Object.entries(kept.expanded).map(([body, scopes]) => [body, new Set(scopes)])),
    instances: new Map(Object.entries(kept.instances)),
    noise: kept.noise,
    overlay: kept.overlay as Overlay,
    selected: kept.selected,
  };
}

function graphLabel(state: State): string {
  const body = state.shown?.bodies.at(-1);
  return body ? `Graph of the ${body.role} of ${body.label}` : `Graph of ${state.capture?.name ?? "the program"}`;
}

/** The folded node that a box is, or is in. */
function foldAround(state: State, id: string): string | undefined {
  for (let at: string | undefined = id; at; at = state.shown?.picture.boxes.get(at)?.parent) {
    if (state.shown?.picture.boxes.get(at)?.node.fold) return at;
  }
  return undefined;
}
