// Takes the graph away: as a picture of what is drawn, as data, as a page of its own.
import type { Host } from "../host";
import type { ExportKind } from "../panels/toolbar";
import type { GraphView } from "../render/graph";
import type { Store } from "../state";
import { captionOf } from "./caption";
import { pictureSvg } from "./picture";

/** Chromium refuses larger canvases, and a larger picture is better an SVG. */
const PIXELS_AT_MOST = 100_000_000;
const SIDE_AT_MOST = 16_000;

export async function exportGraph(
  kind: ExportKind,
  host: Host,
  store: Store,
  view: GraphView | undefined,
): Promise<void> {
  const { capture, shown, saved } = store.get();
  if (!capture || !shown || !view) return;
  // An editor asks where to save, and tells itself that it did.
  const said = (text: string) => store.set({ said: host.editor ? "" : text });
  const name = capture.name.replace(/[^\w.-]+/g, "_") || "graph";
  if (kind === "json" || kind === "html") {
    store.set({ said: "Writing…" });
    const answer = await host.request("tvls/graph/export", { captureId: shown.captureId, format: kind });
    await keep(
      host,
      new Blob([answer.text], { type: kind === "json" ? "application/json" : "text/html" }),
      answer.suggestedName,
    );
    said(`Saved ${answer.suggestedName}.`);
    return;
  }
  const svg = pictureSvg(view, shown, captionOf(capture, shown.bodies, saved));
  if (kind === "svg") {
    await keep(host, new Blob([svg.text], { type: "image/svg+xml" }), `${name}.svg`);
    said(`Saved ${name}.svg.`);
    return;
  }
  const factor = Math.min(
    2,
    SIDE_AT_MOST / Math.max(svg.width, svg.height),
    Math.sqrt(PIXELS_AT_MOST / (svg.width * svg.height)),
  );
  await keep(host, await png(svg, factor), `${name}.png`);
  said(factor < 1 ? `Saved ${name}.png, made smaller to fit; the SVG has every detail.` : `Saved ${name}.png.`);
}

async function png(svg: { text: string; width: number; height: number }, factor: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(svg.width * factor));
  canvas.height = Math.max(1, Math.round(svg.height * factor));
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("The browser could not make a picture of this size; take the SVG.");
  return blob;
}

async function keep(host: Host, blob: Blob, name: string): Promise<void> {
  if (host.editor) await host.editor.save(blob, name);
  else download(blob, name);
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
