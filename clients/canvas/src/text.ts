// How shapes, dtypes, counts and values are written for people.
import type * as p from "./protocol";

const SHORT: readonly (readonly [string, string])[] = [
  ["bfloat", "bf"],
  ["float", "f"],
  ["uint", "u"],
  ["int", "i"],
  ["complex", "c"],
];

/** As in a jaxpr: `float32` → `f32`, `bfloat16` → `bf16`, `float8_e4m3fn` → `f8_e4m3fn`; others stay as they are. */
export function shortDtype(dtype: string): string {
  for (const [long, short] of SHORT) {
    if (dtype.startsWith(long) && /^\d/.test(dtype.slice(long.length))) return short + dtype.slice(long.length);
  }
  return dtype;
}

/** `f32[2,16,64]`, with a star for a weak type. */
export function typeText(value: p.ValueInfo): string {
  return `${shortDtype(value.dtype)}[${value.shape.join(",")}]${value.weakType ? "*" : ""}`;
}

/** `float32[2, 16, 64]`: for the inspector and for screen readers. */
export function longTypeText(value: p.ValueInfo): string {
  return `${value.dtype}[${value.shape.join(", ")}]${value.weakType ? " (weak type)" : ""}`;
}

const STEPS = ["", "K", "M", "G", "T", "P"];

/** Three significant digits with a decimal prefix: 124439808 → `124M`. */
export function countText(count: number): string {
  let value = count;
  let step = 0;
  while (value >= 999.5 && step < STEPS.length - 1) {
    value /= 1000;
    step += 1;
  }
  if (step === 0) return String(count);
  return `${value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)}${STEPS[step]}`;
}

/** `64 FLOPs`, `20.4 MFLOPs` */
export function flopsText(count: number): string {
  const text = countText(count);
  const prefix = /[A-Z]$/.exec(text)?.[0] ?? "";
  return `${text.slice(0, text.length - prefix.length)} ${prefix}FLOPs`;
}

export function bytesText(bytes: number): string {
  let value = bytes;
  let step = 0;
  while (value >= 1023.5 && step < STEPS.length - 1) {
    value /= 1024;
    step += 1;
  }
  if (step === 0) return `${bytes} B`;
  return `${value >= 99.95 ? value.toFixed(0) : value.toFixed(1)} ${STEPS[step]}iB`;
}

export function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Elapsed time as people read a stopwatch: `0.4 s`, `12 s`, `2 min 5 s`. */
export function elapsedText(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** Cuts in the middle, where the least is lost: names differ at their ends. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.ceil((length - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

/** The last part of a dotted or slashed path: `flax.linen.linear.Dense` → `Dense`. */
export function lastPart(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("."), path.lastIndexOf("/")) + 1);
}

/** A parameter of a primitive as one line of readable data. */
export function paramText(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `(${value.map(paramText).join(", ")}${value.length === 1 ? "," : ""})`;
  const entries = Object.entries(value as Record<string, unknown>);
  const opaque = opaqueType(value);
  if (opaque !== undefined) return `‹${opaque}›`;
  return `{${entries.map(([key, inner]) => `${key}: ${paramText(inner)}`).join(", ")}}`;
}

/** The type's name of a parameter that is not plain data. */
export function opaqueType(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const keys = Object.keys(value);
  const name = (value as Record<string, unknown>).opaque;
  return keys.length === 1 && typeof name === "string" ? name : undefined;
}

/** Role of a body that tells the operators which ran below a function of PyTorch. */
export const RAN = "aten";

/** What a body stands for. PyTorch's are of a run; of others nothing tells whether, or how often, they ran. */
export function bodyText(role: string): { what: string; ran: string } {
  if (role === RAN) return { what: "what it is made of", ran: "as it ran" };
  const what = role.startsWith("branch")
    ? "one branch"
    : role.startsWith("cond")
      ? "the condition"
      : role.startsWith("body")
        ? "one iteration"
        : "a subprogram";
  return { what, ran: "not reported as executed" };
}

export type Measurement = NonNullable<p.OpenParams["measure"]>[number];

/** What can be measured of a PyTorch model while it runs, and what it is called. */
export const MEASUREMENTS: readonly (readonly [Measurement, string])[] = [
  ["output_bytes", "bytes of results"],
  ["storage_aliases", "storage aliases"],
  ["activation_statistics", "activation statistics"],
];

export function measured(capture: p.CaptureInfo): Measurement[] {
  return MEASUREMENTS.map(([what]) => what).filter((what) => capture.unavailable?.[what] === undefined);
}

/** What was measured of a value, as lines. */
export function measuredTexts(value: p.ValueInfo): string[] {
  const lines: string[] = [];
  if (value.bytes !== undefined) lines.push(bytesText(value.bytes));
  if (value.storage !== undefined) lines.push(`memory ${value.storage}`);
  const { statistics } = value;
  if (!statistics) return lines;
  const numbers = (["min", "max", "mean", "std"] as const).flatMap((name) => {
    const number = statistics[name];
    return number === undefined ? [] : [`${name} ${Number(number.toPrecision(4))}`];
  });
  if (numbers.length) lines.push(numbers.join(" · "));
  const counts = [`zeros ${statistics.zeros}`, `NaN ${statistics.nan}`, `infinite ${statistics.infinite}`];
  return [...lines, `${counts.join(" · ")} of ${plural(statistics.elements, "element")}`];
}
