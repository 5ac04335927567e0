// Which scopes are open at first, so that the first picture reads like the model: wrappers around everything and the
// root module are open, its layers are boxes, and a picture of two boxes goes on until there is something to read.
import type * as p from "./protocol";

/** Boxes that are enough to read. */
const ENOUGH = 7;
/** A first picture has no more than this, unless the top level alone has. */
const AT_MOST = 60;
const ROUNDS = 6;

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
  const scopes = inside.filter((node) => node.kind === "scope");
  const modules = scopes.filter((node) => node.scopeKind === "module" && !node.fold);
  // One box is the whole program, whatever stands beside it.
  const [only] = scopes;
  if (scopes.length === 1 && only && inside.length <= 3 && !only.fold) return [only.id];
  if (inside.length >= ENOUGH) return [];
  return modules.map((node) => node.id);
}
