// Elements of pictures.
export const SVG = "http://www.w3.org/2000/svg";

export function make<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
  text?: string,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, String(attributes[key]));
  if (text !== undefined) element.textContent = text;
  return element;
}
