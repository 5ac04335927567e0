// An exported file as host: the graph is in the page, and everything that needs a daemon says that there is none.
import { type Host, type HostStatus, RequestError } from "../host";
import type * as p from "../protocol";
import { searchGraph } from "./search";
import { type Prepared, prepare, viewOf, type WholeGraph } from "./view";

/** What `tvls` writes into the file, as JSON, compressed and in base64. */
export interface FileData {
  capture: p.CaptureInfo;
  /** Body → graph; the program itself is "". */
  graphs: Record<string, FileGraph>;
  /** Body → the one whose graph it has too. */
  bodies: Record<string, string>;
  /** Of all graphs; details have places in this list. */
  frames: p.FrameInfo[];
  /** The portable graph file. */
  portable: p.ExportResult;
}

export type FileDetails = Omit<p.NodeDetails, "frames"> & { frames: number[] };

export interface FileGraph extends WholeGraph {
  details: Record<string, FileDetails>;
}

/** The host of a file that holds its graph; undefined where the page is a daemon's. */
export async function fileHost(): Promise<Host | undefined> {
  const element = document.getElementById("graph-data");
  return element?.textContent ? hostOf(await unpack(element.textContent.trim())) : undefined;
}

async function unpack(text: string): Promise<FileData> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as FileData;
}

const NONE = -32601;

export function hostOf(data: FileData): Host {
  const prepared = new Map<string, Prepared>();
  const graphOf = (body: string | undefined): FileGraph => {
    const graph = data.graphs[body === undefined ? "" : (data.bodies[body] ?? body)];
    if (!graph) throw missing(`There is no body ${body}.`);
    return graph;
  };
  const answers: Record<string, (params: never) => unknown> = {
    "tvls/canvas/attach": (): p.CanvasState => ({ open: {}, capture: data.capture }),
    "tvls/graph/info": () => data.capture,
    "tvls/graph/view": (params: p.GraphViewParams): p.GraphViewResult => {
      const body = params.body ?? "";
      const graph = graphOf(body);
      let ready = prepared.get(body);
      if (!ready) {
        ready = prepare(graph, (id) => graph.details[id]?.node);
        prepared.set(body, ready);
      }
      const { capture } = data;
      return {
        ...viewOf(ready, params),
        freshness: capture.freshness,
        coverage: capture.coverage,
        evidence: capture.evidence,
      };
    },
    "tvls/graph/node": ({ node, body }: p.NodeParams) => {
      const found = graphOf(body).details[node];
      if (!found) throw missing(`There is no node ${node}.`);
      return { ...found, frames: framesOf(data, found) };
    },
    "tvls/graph/sources": ({ node, body }: p.NodeParams): p.SourcesResult => ({
      frames: framesOf(data, graphOf(body).details[node]),
      freshness: data.capture.freshness,
    }),
    "tvls/graph/fold": ({ node, body }: p.FoldParams) => {
      const run = graphOf(body).folds.find(({ members }) => members.includes(node));
      if (!run) throw missing(`Node ${node} is not folded.`);
      return run.details;
    },
    "tvls/graph/search": (params: p.SearchParams) => searchGraph(data, params),
    "tvls/graph/export": () => data.portable,
  };
  return {
    status: "connected" as HostStatus,
    reason: "",
    onStatus: () => () => {},
    onNotification: () => () => {},
    onProgress: () => () => {},
    request: async (method, params, signal) => {
      signal?.throwIfAborted();
      const answer = answers[method];
      if (!answer) throw new RequestError(NONE, "This is a saved graph: there is no server that could do that.");
      return answer(params as never) as never;
    },
  };
}

export function framesOf(data: FileData, details: FileDetails | undefined): p.FrameInfo[] {
  return (details?.frames ?? []).map((at) => data.frames[at] as p.FrameInfo);
}

function missing(message: string): RequestError {
  return new RequestError(-33013, message, { kind: "nodeNotFound", nextStep: "Reload the file." });
}
