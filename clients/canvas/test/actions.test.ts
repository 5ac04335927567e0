import { expect, test, vi } from "vitest";
import { type Host, RequestError } from "../src/host";
import type * as p from "../src/protocol";
import { canvas, settled } from "./recorded";

const labelled = (store: Awaited<ReturnType<typeof canvas>>["store"], label: string) =>
  [...(store.get().shown?.picture.boxes.values() ?? [])].find((box) => box.node.label === label)?.id as string;

test("a capture that is there is shown", async () => {
  const { store, ids } = await canvas("tower");
  expect(store.get().capture?.name).toBe("Tower");
  expect(ids()).toHaveLength(5);
  expect(store.get().trouble).toBeUndefined();
});

test("toggling opens in place, keeps what is selected, and closes again", async () => {
  const { store, actions, ids } = await canvas("tower");
  const stem = labelled(store, "stem");
  actions.select(stem);
  await actions.toggle(stem);
  expect(store.get().shown?.picture.boxes.get(stem)?.expanded).toBe(true);
  expect(store.get().shown?.anchor).toBe(stem);
  expect(store.get().selected).toBe(stem);
  expect(ids()).toHaveLength(8);
  await actions.toggle(stem);
  expect(ids()).toHaveLength(5);
});

test("of two answers only the newest is shown", async () => {
  const { store, actions } = await canvas("tower");
  const [stem, head] = [labelled(store, "stem"), labelled(store, "head")];
  await Promise.all([actions.toggle(stem), actions.toggle(head)]);
  const { shown } = store.get();
  expect(shown?.picture.boxes.get(head)?.expanded).toBe(true);
});

test("selecting fetches the details of the node, and the instances of a folded one", async () => {
  const { store, actions } = await canvas("tower");
  const folded = labelled(store, "blocks_0");
  actions.select(folded);
  await settled();
  expect(store.get().details?.node.label).toBe("blocks_0");
  expect(store.get().fold?.instances.map((instance) => instance.label)).toEqual([
    "blocks_0",
    "blocks_1",
    "blocks_2",
    "blocks_3",
  ]);
  await actions.step(folded, 1);
  await settled();
  expect(store.get().details?.node.label).toBe("blocks_1");
  await actions.step(folded, -2);
  expect(store.get().shown?.picture.boxes.get(folded)?.node.label).toBe("blocks_3");
});

test("search walks its hits, and opens what hides them", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { store, actions } = await canvas("tower");
  actions.search("dot_general");
  await vi.advanceTimersByTimeAsync(200);
  vi.useRealTimers();
  expect(store.get().search.total).toBe(6);
  const found: string[] = [];
  for (let hit = 0; hit < 6; hit += 1) {
    await actions.walkHits(1);
    const { selected, shown } = store.get();
    expect(shown?.picture.boxes.get(selected as string)?.node.label).toBe("dot_general");
    found.push(store.get().search.hits[store.get().search.at]?.node as string);
  }
  expect(new Set(found).size).toBe(6);
  await actions.walkHits(1);
  expect(store.get().search.at).toBe(0);
  await actions.walkHits(-1);
  expect(store.get().search.at).toBe(5);
});

test("Enter right after the last letter goes to the first hit of what was typed", async () => {
  const { store, actions, calls } = await canvas("tower");
  actions.search("dot_genera");
  actions.search("dot_general");
  await actions.walkHits(1);
  const { selected, shown, said } = store.get();
  expect(shown?.picture.boxes.get(selected as string)?.node.label).toBe("dot_general");
  expect(said).toBe("Hit 1 of 6.");
  const asked = calls.filter((call) => call.method === "tvls/graph/search").map((call) => call.params.query);
  expect(asked).toEqual(["dot_general"]);
});

test("what is said is of the view that is shown", async () => {
  const { store, actions } = await canvas("tower");
  const stem = labelled(store, "stem");
  await actions.toggle(stem);
  expect(store.get().said).toBe("stem opened: 3 nodes inside.");
  await actions.expandAll();
  expect(store.get().said).toMatch(/^\d+ scopes? opened\.$/);
  await actions.toggle(stem);
  expect(store.get().said).toBe("stem closed.");
  await actions.find({ node: "op:Tower/stem/add.0", scopes: [stem] });
  expect(store.get().said).toBe("");
  await actions.collapseAll();
  expect(store.get().said).toBe("All closed.");
});

test("what was measured is measured again after an edit, and not of another profile", async () => {
  const reasons = { output_bytes: "x", storage_aliases: "x", activation_statistics: "x" };
  const asked: unknown[] = [];
  const { store, actions } = await canvas("tower", (host) => ({
    ...host,
    request: async (method, params, signal) => {
      if (method !== "tvls/graph/open") return host.request(method, params, signal);
      const measure = (params as p.OpenParams).measure ?? [];
      asked.push(measure);
      const { capture } = await host.request("tvls/canvas/attach", { page: "" });
      const unavailable = Object.fromEntries(
        Object.entries(reasons).filter(([what]) => !measure.includes(what as never)),
      );
      return { capture: { ...capture, unavailable } } as never;
    },
  }));
  store.set({ capture: { ...(store.get().capture as p.CaptureInfo), unavailable: reasons } });
  await actions.open();
  await actions.open({ measure: ["output_bytes"] });
  await actions.open({ refresh: true });
  await actions.openProfile("another");
  expect(asked).toEqual([[], ["output_bytes"], ["output_bytes"], []]);
});

test("a node in another instance of a fold is found by its id", async () => {
  const { store, actions } = await canvas("tower");
  expect(await actions.findById("op:Tower/blocks_2/Dense_0/dot_general.0")).toBe(true);
  expect(store.get().instances.get(labelled(store, "blocks_2"))).toBe(2);
});

test("a body is entered and left, with the boundary selected again", async () => {
  const { store, actions, ids } = await canvas("rnn");
  const scan = labelled(store, "scan");
  const body = store.get().shown?.picture.boxes.get(scan)?.node.bodies?.[0]?.id as string;
  const outside = ids();
  await actions.enterBody(scan, body);
  expect(store.get().shown?.bodies.map((step) => step.label)).toEqual(["scan"]);
  expect(store.get().said).toContain("one iteration, not reported as executed");
  expect(ids()).not.toEqual(outside);
  await actions.leaveBody(0);
  expect(ids()).toEqual(outside);
  expect(store.get().selected).toBe(scan);
});

test("noise is dimmed without a request, and hidden by one", async () => {
  const { store, actions, calls } = await canvas("tower");
  await actions.toggle(labelled(store, "stem"));
  const before = calls.length;
  await actions.setNoise("parameter", "dim");
  expect(calls.length).toBe(before);
  const count = store.get().shown?.noise.parameter ?? 0;
  await actions.setNoise("parameter", "hide");
  expect(store.get().shown?.hidden).toBe(count);
  expect(count).toBeGreaterThan(0);
});

/** A host that answers some methods itself. */
const answering =
  (answers: Record<string, (params: never) => unknown>) =>
  (host: Host): Host => ({
    ...host,
    request: async (method, params, signal) =>
      method in answers ? (answers[method]?.(params as never) as never) : host.request(method, params, signal),
  });

test("an error keeps the graph that is shown, and what to do next", async () => {
  const data = { kind: "traceFailed", nextStep: "Correct the code.", exception: "TypeError: shapes" } as p.ErrorData;
  const { store, actions, ids } = await canvas(
    "tower",
    answering({
      "tvls/graph/open": () => {
        throw new RequestError(-33007, "Tower failed", data);
      },
    }),
  );
  await actions.open();
  expect(store.get().trouble).toMatchObject({ kind: "traceFailed", data: { nextStep: "Correct the code." } });
  expect(store.get().loading).toBeUndefined();
  expect(ids()).toHaveLength(5);
});

test("a failure goes when the code is again what is shown, also if that happened while the trace ran", async () => {
  const data = { kind: "traceFailed", nextStep: "Correct the code." } as p.ErrorData;
  let info: Partial<p.CaptureInfo> = { freshness: "stale", retraceable: "a" };
  const { store, actions, calls } = await canvas("tower", (host) => ({
    ...host,
    request: async (method, params, signal) => {
      if (method === "tvls/graph/open") throw new RequestError(-33007, "Tower failed", data);
      const answer = await host.request(method, params, signal);
      return method === "tvls/graph/info" ? ({ ...answer, ...info } as never) : answer;
    },
  }));
  const capture = store.get().capture as p.CaptureInfo;
  await actions.captureState({ ...capture, freshness: "stale", retraceable: "a" });
  expect(store.get().trouble?.kind).toBe("traceFailed");
  expect(calls.filter((call) => call.method === "tvls/graph/open")).toHaveLength(1);
  await actions.captureState({ ...capture, freshness: "fresh" });
  expect(store.get().trouble).toBeUndefined();
  expect(store.get().capture?.freshness).toBe("fresh");

  info = { freshness: "fresh" };
  await actions.captureState({ ...capture, freshness: "stale", retraceable: "b" });
  expect(store.get().trouble).toBeUndefined();
  expect(store.get().capture?.freshness).toBe("fresh");

  await actions.failed(new RequestError(-33001, "not trusted", { kind: "notTrusted", nextStep: "Trust it." }));
  await actions.captureState({ ...capture, freshness: "fresh" });
  expect(store.get().trouble?.kind).toBe("notTrusted");
});

test("a new capture keeps what was open and selected, and marks what changed", async () => {
  const change = (node: string): p.NodeChange => ({ node, label: "add" });
  const { store, actions } = await canvas(
    "tower",
    answering({
      "tvls/graph/compare": (): Partial<p.CompareResult> => ({
        added: [],
        removed: [],
        changed: [change("op:Tower/stem/add.0")],
        summary: "1 changed (shape)",
      }),
    }),
  );
  const stem = labelled(store, "stem");
  await actions.toggle(stem);
  actions.select(stem);
  const { capture } = store.get();
  await actions.show({
    ...(capture as p.CaptureInfo),
    captureId: "sha256:next",
    previous: capture?.captureId as string,
  });
  expect(store.get().shown?.captureId).toBe("sha256:next");
  expect(store.get().shown?.picture.boxes.get(stem)?.expanded).toBe(true);
  expect(store.get().selected).toBe(stem);
  expect([...store.get().changed]).toContain("op:Tower/stem/add.0");
  expect(store.get().changes).toContain("1 changed (shape)");
});

test("cancelling a trace ends it without an error", async () => {
  const { store, actions } = await canvas("tower", (host) => ({
    ...host,
    request: (method, params, signal) =>
      method === "tvls/graph/open"
        ? new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
        : host.request(method, params, signal),
  }));
  const opening = actions.open();
  expect(store.get().loading?.phase).toBe("start");
  actions.cancel();
  await opening;
  expect(store.get().loading).toBeUndefined();
  expect(store.get().trouble).toBeUndefined();
});

test("a capture that the server let go of is opened again", async () => {
  let opens = 0;
  const server = { gone: false };
  const { store, actions } = await canvas("tower", (host) => ({
    ...host,
    request: async (method, params, signal) => {
      if (method === "tvls/graph/open") {
        opens += 1;
        server.gone = false;
        const { capture } = await host.request("tvls/canvas/attach", { page: "" });
        return { capture: { ...capture, captureId: "sha256:again" } } as never;
      }
      if (method === "tvls/graph/compare" || (method === "tvls/graph/view" && server.gone)) {
        throw new RequestError(-33011, "gone", { kind: "captureGone", nextStep: "Open again." });
      }
      return host.request(method, params, signal);
    },
  }));
  server.gone = true;
  await actions.toggle(labelled(store, "stem"));
  expect(opens).toBe(1);
  expect(store.get().shown?.captureId).toBe("sha256:again");
  expect(store.get().trouble).toBeUndefined();
  // Nobody asked what changed since the one that is gone.
  expect(store.get().said).toBe("Tower: 26 operations, inferred.");
});

test("pointing at a node shows its innermost line of the workspace in the editor, walking does not", async () => {
  const location: p.Location = {
    uri: "file:///home/ada/net/tower.py",
    range: { start: { line: 20, character: 0 }, end: { line: 20, character: 4 } },
  };
  const { store, actions, calls } = await canvas("tower", (host) => ({
    ...host,
    request: async (method, params, signal) => {
      if (method === "tvls/canvas/showSource") return { shown: true, place: "tower.py:21" } as never;
      const answer = await host.request(method, params, signal);
      if (method === "tvls/canvas/attach") return { ...answer, editor: "Neovim" };
      if (method !== "tvls/graph/node") return answer;
      return { ...answer, frames: [{ path: "tower.py", workspace: true, function: "f", line: 21, location }] };
    },
  }));
  const shown = () => calls.filter((call) => call.method === "tvls/canvas/showSource");
  actions.select(labelled(store, "head"));
  await settled();
  expect(shown()).toEqual([]);
  actions.point(labelled(store, "stem"));
  await settled();
  expect(shown().map((call) => call.params)).toEqual([{ location }]);
  expect(store.get().said).toBe("Neovim shows tower.py:21.");
});

test("asked for the source, the innermost line of the workspace is shown, and not a library's", async () => {
  const at = (line: number, uri: string): p.Location => ({
    uri,
    range: { start: { line, character: 0 }, end: { line, character: 4 } },
  });
  const library = {
    path: "jax/_src/lax/lax.py",
    workspace: false,
    function: "dot",
    line: 9,
    location: at(8, "file:///l"),
  };
  const inner = { path: "tower.py", workspace: true, function: "f", line: 21, location: at(20, "file:///t") };
  const outer = { path: "tower.py", workspace: true, function: "g", line: 31, location: at(30, "file:///t") };
  let frames = [library, inner, library, outer];
  const { store, actions, calls } = await canvas("tower", (host) => ({
    ...host,
    request: async (method, params, signal) => {
      if (method === "tvls/canvas/showSource") return { shown: true, place: "tower.py:21" } as never;
      const answer = await host.request(method, params, signal);
      return method === "tvls/graph/node" ? { ...answer, frames } : answer;
    },
  }));
  const shown = () => calls.filter((call) => call.method === "tvls/canvas/showSource").map((call) => call.params);
  actions.select(labelled(store, "head"));
  actions.source(); // before the details are there
  await settled();
  expect(shown()).toEqual([{ location: inner.location }]);
  actions.source();
  await settled();
  expect(shown()).toHaveLength(2);
  frames = [library];
  actions.select(labelled(store, "stem"));
  actions.source();
  await settled();
  expect(shown()).toHaveLength(2);
  expect(store.get().said).toBe("stem comes from no line of this folder.");
});

test("marks of the cursor stand at the closed scope around what is not drawn", async () => {
  const { store, actions } = await canvas("tower");
  const stem = labelled(store, "stem");
  const captureId = store.get().shown?.captureId as string;
  await actions.markNodes({
    captureId,
    nodes: [{ captureId, node: "op:Tower/stem/add.0", label: "add", scopes: [stem] }],
    total: 1,
  });
  expect([...store.get().marked]).toEqual([stem]);
  await actions.markNodes({ captureId, nodes: [], total: 0 });
  expect(store.get().marked.size).toBe(0);
});
