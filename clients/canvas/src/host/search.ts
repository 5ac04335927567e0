// Search in an exported file, by the rules of `tvls/graph/search`: words that all have to match, shapes, lines. Frames of
// libraries are not in the file, so that their functions find nothing.
import type * as p from "../protocol";
import { shortDtype } from "../text";
import { type FileData, type FileDetails, framesOf } from "./file";

const SHAPE = /^([a-z0-9_<>]*)\[([^\]]*)\]$/i;
const LINE = /^([^\s:]+\.py):(\d+)$/;

type Test = (node: p.Node, details: FileDetails | undefined, data: FileData) => boolean;

export function searchGraph(data: FileData, params: p.SearchParams): p.SearchResult {
  const tests = words(params.query).map(testOf);
  const hits: p.NodeHit[] = [];
  if (tests.length) {
    for (const [body, graph] of Object.entries(data.graphs)) {
      const parents = new Map(graph.nodes.map((node) => [node.id, node.parent]));
      const runs = new Map(
        graph.folds.flatMap(({ members }) =>
          members.map((id, at) => [id, { first: members[0] as string, at }] as const),
        ),
      );
      for (const node of graph.nodes) {
        if (!tests.every((test) => test(node, graph.details[node.id], data))) continue;
        const scopes: string[] = [];
        for (let at = node.parent; at; at = parents.get(at)) scopes.unshift(at);
        const instances: Record<string, number> = {};
        for (const scope of [...scopes, node.id]) {
          const run = runs.get(scope);
          if (run) instances[run.first] = run.at;
        }
        const hit: p.NodeHit = {
          captureId: data.capture.captureId,
          node: node.id,
          label: node.label,
          scopes,
          instances,
        };
        if (body) hit.body = body;
        hits.push(hit);
      }
    }
  }
  return { nodes: hits.slice(0, params.limit ?? 100), total: hits.length };
}

/** Split at blanks, but not inside brackets: `f32[*, 64] dot` is two. */
export function words(query: string): string[] {
  return query.match(/[^\s[]*\[[^\]]*\]|[^\s]+/g) ?? [];
}

function testOf(word: string): Test {
  const shape = SHAPE.exec(word);
  if (shape) return shapeTest(shape[1] ?? "", shape[2] ?? "");
  const line = LINE.exec(word);
  if (line) {
    const [, path, number] = line;
    return (_, details, data) =>
      framesOf(data, details).some(
        (frame) => frame.workspace && frame.line === Number(number) && `/${frame.path}`.endsWith(`/${path}`),
      );
  }
  const text = word.toLowerCase();
  return (node, details) => {
    const texts =
      node.kind === "operation"
        ? [node.label, (details?.scopePath ?? []).join("/"), ...(node.state ?? []).map((value) => value.name ?? "")]
        : [node.label, node.className ?? ""];
    return texts.some((candidate) => candidate.toLowerCase().includes(text));
  };
}

function shapeTest(dtype: string, dimensions: string): Test {
  const parts = dimensions
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
  const open = parts.indexOf("...");
  const matches = (value: p.ValueInfo): boolean => {
    if (dtype && dtype !== value.dtype && dtype !== shortDtype(value.dtype)) return false;
    const fits = (size: number | undefined, part: string) =>
      size !== undefined && (part === "*" || part === String(size));
    if (open < 0) return value.shape.length === parts.length && parts.every((part, at) => fits(value.shape[at], part));
    const tail = parts.slice(open + 1);
    if (value.shape.length < open + tail.length) return false;
    return (
      parts.slice(0, open).every((part, at) => fits(value.shape[at], part)) &&
      tail.every((part, at) => fits(value.shape[value.shape.length - tail.length + at], part))
    );
  };
  return (node) => (node.outputs ?? []).some(matches);
}
