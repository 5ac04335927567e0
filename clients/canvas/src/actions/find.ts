// Search, and the way to a node that something hides.
import type { Host } from "../host";
import type { Shown, State, Store } from "../state";
import { plural } from "../text";
import { describe } from "../trouble";
import { newest } from "./newest";
import { EVERYTHING, type Views } from "./view";

const SEARCH_PAUSE_MS = 120;

/** Where a node is: as in a hit of a search. */
export interface Whereabouts {
  node: string;
  scopes?: string[];
  body?: string;
  instances?: Record<string, number>;
}

export interface Finding {
  /** Selects a node that may lie behind closed scopes. Answers whether it could be shown. */
  find(hit: Whereabouts): Promise<boolean>;
  /** The same for a node of the graph that is shown, of which only the id is known. */
  findById(id: string): Promise<boolean>;
  search(query: string): void;
  walkHits(by: number): Promise<void>;
}

export interface FindingNeeds {
  failed(error: unknown): Promise<void>;
  select(id: string | undefined): void;
  views: Views;
}

export function createFinding(host: Host, store: Store, need: FindingNeeds): Finding {
  const requests = newest<"search">();
  const { get } = store;
  const { failed: fail, select } = need;
  const refreshView = need.views.refresh;
  let searchTimer: ReturnType<typeof setTimeout> | undefined;
  /** Asks at once for what the pause would wait for, and waits for the hits of what is typed now. */
  let hurry: () => Promise<void> = async () => {};

  async function find(hit: Whereabouts): Promise<boolean> {
    const { shown } = get();
    if (!shown) return false;
    if (get().editing) store.set({ editing: false });
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
    requests.end("search");
    clearTimeout(searchTimer);
    const { shown } = get();
    if (!query.trim() || !shown) {
      store.set({ search: { query, hits: [], total: 0, at: -1, running: false } });
      return;
    }
    store.set({ search: { ...get().search, query, running: true } });
    let answer: Promise<void> | undefined;
    hurry = () => {
      clearTimeout(searchTimer);
      answer ??= run();
      return answer;
    };
    searchTimer = setTimeout(() => void hurry(), SEARCH_PAUSE_MS);
    const run = async () => {
      const control = requests.begin("search");
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
    if (get().search.running) {
      const { query } = get().search;
      await hurry();
      if (get().search.query !== query) return;
    }
    const { hits, at } = get().search;
    if (hits.length === 0) return;
    const next = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
    const hit = hits[next];
    if (!hit) return;
    store.set({ search: { ...get().search, at: next } });
    if (await find(hit)) store.set({ said: `Hit ${next + 1} of ${get().search.total}.` });
  }

  return { find, findById, search, walkHits };
}
