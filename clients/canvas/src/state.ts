// Everything that the page shows, as plain data. Changed only through `Store.set`; drawn from nothing else.
import type { HostStatus } from "./host";
import type { LayoutResult } from "./layout";
import type { Picture } from "./model";
import type * as p from "./protocol";

/** A request that did not give what was asked for, as the person should see it. */
export interface Trouble {
  /** A kind of `ErrorData`, or `unknown` for anything else. */
  kind: string;
  message: string;
  data?: p.ErrorData;
}

export interface Loading {
  /** `start`, `import`, … as the server reports; for people. */
  phase: string;
  since: number;
  /** Asked for by the editor, which can cancel it. */
  elsewhere?: boolean;
}

/** What is shown of one capture. */
export interface Shown {
  captureId: string;
  /** Bodies that were entered, outermost first; empty for the program itself. */
  bodies: BodyStep[];
  nodes: p.Node[];
  edges: p.Edge[];
  /** Visible nodes on all pages; more than `nodes` where the rest was not fetched. */
  total: number;
  picture: Picture;
  layout: LayoutResult;
  /** Word of the table *noise* → nodes of that kind, hidden or not. */
  noise: Record<string, number>;
  /** Nodes that are left out because their noise is hidden. */
  hidden: number;
  /** Box that stays where it is on the screen. */
  anchor: string | undefined;
}

export interface BodyStep {
  id: string;
  /** The boundary that it was entered from. */
  node: string;
  label: string;
  role: string;
}

export interface Search {
  query: string;
  hits: p.NodeHit[];
  total: number;
  /** The hit that is selected; −1 before the first. */
  at: number;
  running: boolean;
}

export type Noise = "show" | "dim" | "hide";
export type Overlay = "none" | "flops" | "output" | "parameters" | "depth";

export interface State {
  host: HostStatus;
  hostReason: string;
  /** What traces this again; undefined before the host has said it, and in an exported file. */
  open: p.OpenParams | undefined;
  /** Name of the editor that goes to source lines. */
  editor: string | undefined;
  loading: Loading | undefined;
  trouble: Trouble | undefined;
  capture: p.CaptureInfo | undefined;
  shown: Shown | undefined;
  /** Ids of expanded scopes, by body: `""` is the program. */
  expanded: ReadonlyMap<string, ReadonlySet<string>>;
  /** Folded node → which of its neighbours is shown. */
  instances: ReadonlyMap<string, number>;
  noise: Readonly<Record<string, Noise>>;
  /** Nodes that are drawn at most; raised when the person asks for more. */
  limit: number;
  selected: string | undefined;
  details: p.NodeDetails | undefined;
  detailsTrouble: string | undefined;
  /** Labels of nodes that the details name and that are not drawn. */
  names: ReadonlyMap<string, string>;
  fold: p.FoldResult | undefined;
  search: Search;
  overlay: Overlay;
  /** Nodes at the cursor of the editor. */
  marked: ReadonlySet<string>;
  /** Nodes that differ from the capture before. */
  changed: ReadonlySet<string>;
  /** What a re-trace changed, in words. */
  changes: string;
  preview: p.PreviewResult | undefined;
  /** The graph is in an exported file: no server tells whether the code is still what was traced. */
  saved: boolean;
  /** The setup form stands in the place of the picture, or of whatever keeps one from being there. */
  editing: boolean;
  /** The values that were typed into the setup form so far are all that is needed. */
  setupComplete: boolean;
  help: boolean;
  inspector: boolean;
  /** One line for screen readers and the status bar. */
  said: string;
}

export const initial: State = {
  host: "connecting",
  hostReason: "",
  open: undefined,
  editor: undefined,
  loading: undefined,
  trouble: undefined,
  capture: undefined,
  shown: undefined,
  expanded: new Map(),
  instances: new Map(),
  noise: { constant: "show", parameter: "show", shape: "show" },
  limit: 1000,
  selected: undefined,
  details: undefined,
  detailsTrouble: undefined,
  names: new Map(),
  fold: undefined,
  search: { query: "", hits: [], total: 0, at: -1, running: false },
  overlay: "none",
  marked: new Set(),
  changed: new Set(),
  changes: "",
  preview: undefined,
  saved: false,
  editing: false,
  setupComplete: false,
  help: false,
  inspector: true,
  said: "",
};

export type Listener = (state: State, before: State) => void;

export interface Store {
  get(): State;
  set(change: Partial<State>): void;
  subscribe(listener: Listener): void;
}

export function createStore(start: State = initial): Store {
  let state = start;
  const listeners: Listener[] = [];
  return {
    get: () => state,
    set(change) {
      const before = state;
      state = { ...state, ...change };
      for (const listener of listeners) listener(state, before);
    },
    subscribe(listener) {
      listeners.push(listener);
    },
  };
}
