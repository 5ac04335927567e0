// Which key does what, apart from the DOM: the page asks for the action and does it.
export type KeyAction =
  | { do: "walk"; to: "up" | "down" | "left" | "right" }
  | { do: "pan"; dx: number; dy: number }
  | { do: "zoom"; factor: number }
  | { do: "step"; by: number }
  | { do: "hit"; by: number }
  | {
      do:
        | "activate"
        | "parent"
        | "search"
        | "fit"
        | "readable"
        | "source"
        | "help"
        | "escape"
        | "inspector"
        | "expandAll"
        | "collapseAll";
    };

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

const PAN = 60;

const ARROWS: Readonly<Record<string, "up" | "down" | "left" | "right">> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

const PLAIN: Readonly<Record<string, KeyAction>> = {
  "/": { do: "search" },
  f: { do: "fit" },
  r: { do: "readable" },
  g: { do: "source" },
  i: { do: "inspector" },
  e: { do: "expandAll" },
  c: { do: "collapseAll" },
  "?": { do: "help" },
  "+": { do: "zoom", factor: 1.3 },
  "=": { do: "zoom", factor: 1.3 },
  "-": { do: "zoom", factor: 1 / 1.3 },
  "[": { do: "step", by: -1 },
  "]": { do: "step", by: 1 },
  n: { do: "hit", by: 1 },
  N: { do: "hit", by: -1 },
  Escape: { do: "escape" },
};

/** Keys that mean something only while the picture has the focus; elsewhere they belong to what has it. */
const IN_PICTURE: Readonly<Record<string, KeyAction>> = {
  Enter: { do: "activate" },
  " ": { do: "activate" },
  Backspace: { do: "parent" },
};

export function keyAction(pressed: Pressed, inPicture: boolean): KeyAction | undefined {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return undefined;
  const arrow = ARROWS[pressed.key];
  if (arrow) {
    if (!inPicture) return undefined;
    if (!pressed.shiftKey) return { do: "walk", to: arrow };
    const dx = arrow === "left" ? PAN : arrow === "right" ? -PAN : 0;
    const dy = arrow === "up" ? PAN : arrow === "down" ? -PAN : 0;
    return { do: "pan", dx, dy };
  }
  if (inPicture && IN_PICTURE[pressed.key]) return IN_PICTURE[pressed.key];
  return PLAIN[pressed.key];
}
