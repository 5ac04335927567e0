// Something that opened over the page closes by Escape, or when the person goes on elsewhere.
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** `root` holds what is open together with its button, which gets the focus back after Escape. */
export function useDismiss(root: RefObject<HTMLElement>, open: boolean, close: () => void): void {
  // At once: a key that comes before the next frame counts too.
  useLayoutEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) close();
    };
    const onEscape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
      root.current?.querySelector("button")?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    document.addEventListener("keydown", onEscape, true);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      document.removeEventListener("keydown", onEscape, true);
    };
  }, [open]);
}
