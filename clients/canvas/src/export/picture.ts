// The whole picture as an SVG of its own, with the colours that it has on the screen.
import { browserMeasure, MONO } from "../measure";
import type { GraphView } from "../render/graph";
import { make, SVG } from "../render/svg";
import type { Shown } from "../state";
import type { Caption } from "./caption";

const MARGIN = 20;
/** What a drawing program needs of the page's styles. */
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "paint-order",
  "display",
] as const;

const LINE_HEIGHT = 16;

/** With a caption below the picture, which programs that read pictures aloud, or index them, find as text. */
export function pictureSvg(
  view: GraphView,
  shown: Shown,
  caption: Caption,
): { text: string; width: number; height: number } {
  const lines = [caption.title, ...caption.lines];
  const measure = browserMeasure();
  const across = Math.max(shown.layout.width, ...lines.map((line) => measure(line, "mono")));
  const width = Math.ceil(across + 2 * MARGIN);
  const height = Math.ceil(shown.layout.height + 3 * MARGIN + lines.length * LINE_HEIGHT);
  const whole = view.whole();
  try {
    const copy = whole.cloneNode(true) as SVGSVGElement;
    inline(whole, copy);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", String(width));
    copy.setAttribute("height", String(height));
    copy.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width} ${height}`);
    for (const name of ["tabindex", "aria-activedescendant", "data-detail"]) copy.removeAttribute(name);
    const page = getComputedStyle(document.body);
    const back = make("rect", { x: -MARGIN, y: -MARGIN, width, height, fill: page.backgroundColor });
    copy.prepend(make("title", {}, caption.title), make("desc", {}, caption.lines.join("\n")), back);
    lines.forEach((line, at) => {
      const y = shown.layout.height + 2 * MARGIN + at * LINE_HEIGHT;
      copy.append(make("text", { x: 0, y, fill: page.color, ...MONO }, line));
    });
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  } finally {
    view.restore();
  }
}

function inline(from: Element, to: Element): void {
  const styles = getComputedStyle(from);
  for (const name of STYLES) {
    const value = styles.getPropertyValue(name);
    if (value) to.setAttribute(name, value);
  }
  to.removeAttribute("class");
  for (let at = 0; at < from.children.length; at += 1) {
    const [a, b] = [from.children[at], to.children[at]];
    if (a && b) inline(a, b);
  }
}
