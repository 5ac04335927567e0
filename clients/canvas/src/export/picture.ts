// The whole picture as an SVG of its own, with the colours that it has on the screen.
import type { GraphView } from "../render/graph";
import type { Shown } from "../state";

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

export function pictureSvg(view: GraphView, shown: Shown): { text: string; width: number; height: number } {
  const width = Math.ceil(shown.layout.width + 2 * MARGIN);
  const height = Math.ceil(shown.layout.height + 2 * MARGIN);
  const whole = view.whole();
  try {
    const copy = whole.cloneNode(true) as SVGSVGElement;
    inline(whole, copy);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", String(width));
    copy.setAttribute("height", String(height));
    copy.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width} ${height}`);
    for (const name of ["tabindex", "aria-activedescendant", "data-detail"]) copy.removeAttribute(name);
    const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    back.setAttribute("x", String(-MARGIN));
    back.setAttribute("y", String(-MARGIN));
    back.setAttribute("width", String(width));
    back.setAttribute("height", String(height));
    back.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.insertBefore(back, copy.firstChild);
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
