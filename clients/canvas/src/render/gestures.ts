// Pointer and wheel to movements of the viewport: dragging pans, the wheel scrolls, with Ctrl (or pinching) it zooms, two
// fingers do both.

export interface Movements {
  pan(dx: number, dy: number): void;
  /** `x`, `y`: what stays where it is, in pixels of the element. */
  zoom(x: number, y: number, factor: number): void;
  /** A press that did not move. */
  click(event: PointerEvent): void;
}

const SLOP = 4;

export function listen(element: Element, to: Movements): void {
  const pointers = new Map<number, { x: number; y: number }>();
  let dragging = false;
  let pressed: { x: number; y: number } | undefined;

  const place = (event: PointerEvent | WheelEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener("pointerdown", (raw) => {
    const event = raw as PointerEvent;
    if (event.button !== 0 && event.button !== 1) return;
    pointers.set(event.pointerId, place(event));
    if (pointers.size === 1) {
      pressed = place(event);
      dragging = false;
    }
  });

  element.addEventListener("pointermove", (raw) => {
    const event = raw as PointerEvent;
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const now = place(event);
    if (!dragging) {
      if (pressed && Math.hypot(now.x - pressed.x, now.y - pressed.y) < SLOP && pointers.size === 1) return;
      dragging = true;
      element.setPointerCapture(event.pointerId);
      element.classList.add("dragging");
    }
    if (pointers.size === 1) {
      to.pan(now.x - last.x, now.y - last.y);
    } else {
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const before = Math.hypot(last.x - other.x, last.y - other.y);
        const after = Math.hypot(now.x - other.x, now.y - other.y);
        if (before > 1) to.zoom((now.x + other.x) / 2, (now.y + other.y) / 2, after / before);
        to.pan((now.x - last.x) / 2, (now.y - last.y) / 2);
      }
    }
    pointers.set(event.pointerId, now);
  });

  const end = (raw: Event) => {
    const event = raw as PointerEvent;
    if (!pointers.delete(event.pointerId)) return;
    if (pointers.size > 0) return;
    element.classList.remove("dragging");
    if (!dragging && event.type === "pointerup") to.click(event);
    dragging = false;
    pressed = undefined;
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);

  element.addEventListener(
    "wheel",
    (raw) => {
      const event = raw as WheelEvent;
      event.preventDefault();
      // Lines and pages of old mice, in pixels.
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      if (event.ctrlKey || event.metaKey) {
        const { x, y } = place(event);
        to.zoom(x, y, Math.exp(-Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.008));
      } else if (event.shiftKey && event.deltaX === 0) {
        to.pan(-event.deltaY * unit, 0);
      } else {
        to.pan(-event.deltaX * unit, -event.deltaY * unit);
      }
    },
    { passive: false },
  );
}
