// Colours of boxes by a number that follows from shapes. One scale of nine steps, logarithmic, since one layer of a
// model may cost a million times another.
import type { Box, Picture } from "./model";
import type * as p from "./protocol";
import type { Overlay } from "./state";
import { bytesText, flopsText } from "./text";

export const STEPS = 9;

export interface Scale {
  /** Node → step, from 0. */
  steps: Map<string, number>;
  low: string;
  high: string;
}

export const OVERLAYS: readonly { id: Overlay; title: string; help: string }[] = [
  { id: "none", title: "No colours", help: "" },
  {
    id: "flops",
    title: "FLOPs",
    help: "Derived from shapes: contractions and convolutions exactly, the rest by size.",
  },
  { id: "output", title: "Output size", help: "Bytes of the results, derived from shapes." },
  { id: "parameters", title: "Parameter size", help: "Bytes of the parameters read inside, derived from shapes." },
  { id: "depth", title: "Depth", help: "How many operations the data passed at least, counted over what is shown." },
];

export function scale(overlay: Overlay, picture: Picture): Scale | undefined {
  if (overlay === "none") return undefined;
  const depths = overlay === "depth" ? depth(picture) : undefined;
  const numbers = new Map<string, number>();
  for (const box of picture.boxes.values()) {
    if (box.expanded) continue;
    const number = depths ? depths.get(box.id) : measured(overlay, box);
    if (number !== undefined && number > 0) numbers.set(box.id, number);
  }
  const write = overlay === "flops" ? flopsText : depths ? String : bytesText;
  if (numbers.size === 0) return { steps: new Map(), low: "", high: "" };
  const all = [...numbers.values()];
  const low = Math.min(...all);
  const high = Math.max(...all);
  const place = depths ? (n: number) => n : Math.log;
  const span = place(high) - place(low);
  const steps = new Map<string, number>();
  for (const [id, number] of numbers) {
    const share = span === 0 ? 1 : (place(number) - place(low)) / span;
    steps.set(id, Math.min(STEPS - 1, Math.floor(share * STEPS)));
  }
  return { steps, low: write(low), high: write(high) };
}

function measured(overlay: Overlay, box: Box): number | undefined {
  const costs: p.Costs | undefined = box.node.fold?.costs ?? box.node.costs;
  if (overlay === "flops") return costs?.flops;
  if (overlay === "output") return costs?.outputBytes;
  return costs?.parameterBytes;
}

/** Length of the longest way from an input to each box. Cycles, which a view should not have, end where they close. */
function depth(picture: Picture): Map<string, number> {
  const sources = new Map<string, string[]>();
  for (const line of picture.lines.values()) {
    const list = sources.get(line.target);
    if (list) list.push(line.source);
    else sources.set(line.target, [line.source]);
  }
  const depths = new Map<string, number>();
  for (const start of picture.boxes.keys()) {
    const pending = [start];
    const open = new Set<string>();
    while (pending.length) {
      const id = pending[pending.length - 1] as string;
      if (depths.has(id)) {
        pending.pop();
        continue;
      }
      const above = sources.get(id) ?? [];
      const missing = open.has(id) ? [] : above.filter((source) => !depths.has(source) && !open.has(source));
      open.add(id);
      if (missing.length) {
        pending.push(...missing);
        continue;
      }
      pending.pop();
      depths.set(id, 1 + Math.max(-1, ...above.map((source) => depths.get(source) ?? -1)));
    }
  }
  return depths;
}
