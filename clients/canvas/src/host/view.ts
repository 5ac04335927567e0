// A view of a graph that is there as a whole, with every scope open: what the daemon answers to `tvls/graph/view`, made in
// the page. For exported files, which have no daemon.
import { isGroup } from "../model";
import type * as p from "../protocol";

/** A graph with everything open, in the order of a view: depth first, each node after the scope around it. */
export interface WholeGraph {
  nodes: p.Node[];
  edges: p.Edge[];
  folds: Run[];
}

/** Neighbours of equal structure. */
export interface Run {
  /** Scope node ids in order. */
  members: string[];
  info: p.FoldInfo;
  details: p.FoldResult;
}

export interface Prepared {
  whole: WholeGraph;
  at: Map<string, number>;
  /** Scope → the run that it belongs to. */
  runs: Map<string, Run>;
  /** Scope node → the node as it is when collapsed. */
  closed: (id: string) => p.Node | undefined;
}

export function prepare(whole: WholeGraph, closed: (id: string) => p.Node | undefined): Prepared {
  const runs = new Map<string, Run>();
  for (const run of whole.folds) for (const id of run.members) runs.set(id, run);
  return { whole, at: new Map(whole.nodes.map((node, index) => [node.id, index])), runs, closed };
}

interface Place {
  /** The visible node that stands for it. */
  id: string;
  /** The node is itself visible, and not inside something closed. */
  leaf: boolean;
  /** Folded nodes around it, and in which of their neighbours it lies. */
  inside: Map<string, number>;
  /** It lies in a neighbour that is not shown; `id` is its like in the one that is. */
  moved: boolean;
}

export function viewOf(
  graph: Prepared,
  params: p.GraphViewParams,
): Omit<p.GraphViewResult, "freshness" | "coverage" | "evidence"> {
  const { whole, at, runs } = graph;
  const fold = params.fold ?? false;
  const expanded = new Set(params.expanded ?? []);
  const hide = new Set(params.hide ?? []);
  const opened = (id: string): boolean => {
    const run = fold ? runs.get(id) : undefined;
    return run ? run.members.some((member) => expanded.has(member)) : expanded.has(id);
  };
  const nameOf = (run: Run): string => run.members[0] as string;
  const shownOf = (run: Run): number => Math.min(run.members.length - 1, params.instances?.[nameOf(run)] ?? 0);

  /** Ancestors from the outside in, the node last. */
  const chain = (id: string): string[] => {
    const ids: string[] = [];
    for (let next: string | undefined = id; next; next = whole.nodes[at.get(next) ?? -1]?.parent) ids.unshift(next);
    return ids;
  };
  const places = new Map<string, Place>();
  const placeOf = (id: string): Place => {
    let known = places.get(id);
    if (!known) {
      known = find(id);
      places.set(id, known);
    }
    return known;
  };
  const find = (id: string): Place => {
    const inside = new Map<string, number>();
    let moved = false;
    let ids = chain(id);
    for (let depth = 0; depth < ids.length; depth += 1) {
      const here = ids[depth] as string;
      const node = whole.nodes[at.get(here) ?? -1];
      if (!node || !isGroup(node)) continue;
      const run = fold ? runs.get(here) : undefined;
      const name = run?.members[0] ?? here;
      if (!opened(here)) return { id: name, leaf: false, inside, moved };
      if (!run) continue;
      const instance = run.members.indexOf(here);
      const shown = run.members[shownOf(run)] as string;
      inside.set(name, instance);
      if (shown === here) continue;
      // The counterpart in the neighbour that is shown: equal structure, so the same place after its beginning.
      moved = true;
      const last = ids.at(-1) as string;
      const offset = (at.get(last) ?? 0) - (at.get(here) ?? 0);
      ids = chain(whole.nodes[(at.get(shown) ?? 0) + offset]?.id ?? shown);
    }
    const last = ids.at(-1) as string;
    const run = fold ? runs.get(last) : undefined;
    return { id: run?.members[0] ?? last, leaf: true, inside, moved };
  };

  const shownAt = (name: string): number => {
    const run = runs.get(name);
    return run ? shownOf(run) : 0;
  };

  const nodes: p.Node[] = [];
  const kinds: Record<string, number> = {};
  const hidden = new Set<string>();
  for (const node of whole.nodes) {
    const place = placeOf(node.id);
    // Drawn where it is itself visible: not inside a closed scope, not in a neighbour that is not shown.
    const run = fold ? runs.get(node.id) : undefined;
    const first = run?.members[0] ?? node.id;
    if (place.moved || place.id !== first) continue;
    if (run && run.members[shownOf(run)] !== node.id) continue;
    const open = isGroup(node) && opened(node.id);
    const drawn: p.Node =
      isGroup(node) && !open ? { ...(graph.closed(node.id) ?? node), expanded: false } : { ...node };
    drawn.id = first;
    const parentRun = fold && node.parent ? runs.get(node.parent) : undefined;
    if (node.parent) drawn.parent = parentRun?.members[0] ?? node.parent;
    else delete drawn.parent;
    if (open) drawn.expanded = true;
    if (run) drawn.fold = { ...run.info, instance: shownOf(run), shown: run.members[shownOf(run)] as string };
    else delete drawn.fold;
    if (node.noise) {
      kinds[node.noise] = (kinds[node.noise] ?? 0) + 1;
      if (hide.has(node.noise) && node.kind !== "scope") {
        hidden.add(first);
        continue;
      }
    }
    nodes.push(drawn);
  }

  const visible = new Map(nodes.map((node) => [node.id, node]));
  const edges: p.Edge[] = [];
  const seen = new Map<string, p.Edge>();
  for (const edge of whole.edges) {
    const source = placeOf(edge.source);
    const target = placeOf(edge.target);
    if (source.id === target.id && !(source.leaf && target.leaf && edge.source === edge.target)) continue;
    if (twin(source, target, shownAt)) continue;
    const folded = source.moved || target.moved;
    const leaf = target.leaf && !isClosed(visible.get(target.id));
    const next: p.Edge = { ...edge, source: source.id, target: target.id };
    if (folded) next.folded = true;
    if (leaf && !folded) {
      edges.push(next);
      continue;
    }
    delete next.argument;
    const key = `${source.id}\n${target.id}`;
    const known = seen.get(key);
    if (known) {
      if (!sameValue(known.value, next.value)) known.count = (known.count ?? 1) + 1;
    } else {
      seen.set(key, next);
      edges.push(next);
    }
  }
  return {
    nodes,
    edges: hidden.size ? past(edges, hidden, visible) : edges,
    total: nodes.length,
    noise: kinds,
    hidden: hidden.size,
  };
}

function isClosed(node: p.Node | undefined): boolean {
  return node !== undefined && isGroup(node);
}

/** Between two neighbours of one fold, or inside one that is not shown: the one shown has its like. */
function twin(source: Place, target: Place, shownAt: (name: string) => number): boolean {
  for (const [name, instance] of source.inside) {
    const other = target.inside.get(name);
    if (other !== undefined && (other !== instance || instance !== shownAt(name))) return true;
  }
  return false;
}

function sameValue(a: p.ValueInfo, b: p.ValueInfo): boolean {
  return a.name === b.name && a.dtype === b.dtype && a.shape.join() === b.shape.join();
}

/** Edges past what is hidden: from what it reads to what reads it. */
function past(edges: readonly p.Edge[], hidden: ReadonlySet<string>, visible: ReadonlyMap<string, p.Node>): p.Edge[] {
  const into = new Map<string, string[]>();
  for (const edge of edges) {
    if (!hidden.has(edge.target)) continue;
    const list = into.get(edge.target);
    if (list) list.push(edge.source);
    else into.set(edge.target, [edge.source]);
  }
  const sources = (id: string, through: number, met: Set<string>): { id: string; through: number }[] => {
    if (!hidden.has(id)) return visible.has(id) ? [{ id, through }] : [];
    if (met.has(id)) return [];
    met.add(id);
    return (into.get(id) ?? []).flatMap((source) => sources(source, through + 1, met));
  };
  return edges
    .filter((edge) => !hidden.has(edge.target))
    .flatMap((edge) => {
      if (!hidden.has(edge.source)) return [edge];
      return sources(edge.source, edge.through ?? 0, new Set())
        .filter(({ id }) => id !== edge.target)
        .map(({ id, through }) => ({ ...edge, source: id, through }));
    });
}
