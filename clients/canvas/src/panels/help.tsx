import { useEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [string, string])[] = [
  ["↑ ↓ ← →", "walk the graph: against and along the data, and to neighbours"],
  ["Shift + arrows", "move the picture"],
  ["Enter", "expand or collapse; open the body of a boundary"],
  ["Backspace", "up: to the scope around, out of a body"],
  ["[  ]", "previous and next of repeated blocks"],
  ["/", "search; Enter and Shift + Enter walk the hits, n and N afterwards"],
  ["f", "fit the whole graph"],
  ["r", "readable detail"],
  ["+  −", "zoom"],
  ["e  c", "expand all that is visible; collapse all"],
  ["g", "go to the source"],
  ["i", "show or hide the inspector"],
  ["Esc", "close, or select nothing"],
  ["?", "this list"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="note">Drag or scroll to move; Ctrl (⌘) and the wheel, or two fingers, zoom. A double click expands.</p>
      <button type="button" class="primary" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
