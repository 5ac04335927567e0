// Widths of text before it is drawn. Boxes are sized from these, so that layout needs no DOM.

export type Font = "title" | "mono";

export type Measure = (text: string, font: Font) => number;

const MONOSPACE = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const MONO_SIZE = 11;

/** The font of types, as attributes of SVG. */
export const MONO = { "font-family": MONOSPACE, "font-size": MONO_SIZE };

const SIZES: Record<Font, string> = {
  title: "600 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  mono: `${MONO_SIZE}px ${MONOSPACE}`,
};

/** About right for every font; exact enough for tests, which have no canvas. */
export const estimate: Measure = (text, font) => [...text].length * (font === "title" ? 7.6 : 6.7);

/** Measures with the browser's own fonts; remembers, since the same labels come again and again. */
export function browserMeasure(): Measure {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return estimate;
  const known = new Map<string, number>();
  return (text, font) => {
    const key = `${font}:${text}`;
    let width = known.get(key);
    if (width === undefined) {
      context.font = SIZES[font];
      width = context.measureText(text).width;
      known.set(key, width);
    }
    return width;
  };
}
