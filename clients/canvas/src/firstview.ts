// Which scopes are open at first, so that the first picture reads like the model: what holds most of the program is open,
// its layers are boxes, and a picture of a few boxes goes on until there is something to read.
import type * as p from "./protocol";

/** Boxes that are enough to read. */
const ENOUGH = 7;
/** A first picture has no more than this, unless the top level alone has. */
const AT_MOST = 60;
const ROUNDS = 8;
/** A scope with more of the program than this is a wrapper, or the part that matters. */
const MOST = 0.6;
/** Scopes with less are opened by the person. */
const MUCH = 0.25;

export type FetchView = (expanded: readonly string[]) => Promise<p.GraphViewResult>;

export async function firstView(fetch: FetchView): Promise<{ expanded: string[]; view: p.GraphViewResult }> {
  let expanded: string[] = [];
  let view = await fetch(expanded);
  for (let round = 0; round < ROUNDS; round += 1) {
    const next = toOpen(view.nodes);
    if (next.length === 0) break;
    const wider = [...expanded, ...next];
    const tried = await fetch(wider);
    if (tried.total > AT_MOST && next.length > 1) break;
    if (tried.total > AT_MOST * 3) break;
    expanded = wider;
    view = tried;
  }
  return { expanded, view };
}

/** Scopes to open next; none where the picture is good. Exported for its tests. */
export function toOpen(nodes: readonly p.Node[]): string[] {
  const inside = nodes.filter((node) => node.kind === "operation" || (node.kind === "scope" && !node.expanded));
  const all = inside.reduce((sum, node) => sum + size(node), 0);
  const share = (node: p.Node) => size(node) / all;
  const scopes = inside.filter((node) => node.kind === "scope" && !node.fold);
  const most = scopes.filter((node) => share(node) > MOST);
  if (most.length) return most.map((node) => node.id);
  const boxes = inside.reduce((sum, node) => sum + (node.fold?.count ?? 1), 0);
  if (boxes >= ENOUGH) return [];
  return scopes.filter((node) => node.scopeKind === "module" && share(node) >= MUCH).map((node) => node.id);
}

function size(node: p.Node): number {
  return node.fold?.operations ?? node.operations ?? 1;
}
