// What changes how the graph is drawn, and what takes it away.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Actions } from "../actions/actions";
import { OVERLAYS, type Scale } from "../overlay";
import type { Noise, Overlay, State } from "../state";
import { plural } from "../text";
import { useDismiss } from "./dismiss";

const NOISE: readonly { word: string; title: string }[] = [
  { word: "constant", title: "Constants, and what is made of them alone" },
  { word: "parameter", title: "Parameter inputs, and their change of shape" },
  { word: "shape", title: "Shape-only operations on data" },
];

export type ExportKind = "svg" | "png" | "json" | "html";

interface Props {
  state: State;
  actions: Actions;
  scale: Scale | undefined;
  view: { fit(): void; readable(): void; zoom(factor: number): void };
  exportAs: (kind: ExportKind) => void;
  /** What can be taken away here; an exported file cannot be exported to a file again. */
  exports: readonly ExportKind[];
  help: () => void;
  /** Shows the setup form, or the graph again; absent where there is nothing to set up. */
  setup: (() => void) | undefined;
}

const EXPORTS: Readonly<Record<ExportKind, string>> = {
  svg: "Picture of the view (SVG)",
  png: "Picture of the view (PNG)",
  json: "Portable graph file (JSON)",
  html: "Page that opens anywhere (HTML)",
};

export function Toolbar({ state, actions, scale, view, exportAs, exports, help, setup }: Props) {
  const { shown } = state;
  const hidden = shown?.hidden ?? 0;
  return (
    <section class="toolbar" aria-label="View">
      <Menu title={`Noise${hidden ? ` · ${hidden} hidden` : ""}`} name="Noise">
        {() => (
          <>
            {NOISE.map(({ word, title }) => (
              <fieldset key={word} class="noise">
                <legend>
                  {title} <span class="count">{shown?.noise[word] ?? 0}</span>
                </legend>
                {(["show", "dim", "hide"] as const).map((value: Noise) => (
                  <label key={value}>
                    <input
                      type="radio"
                      name={`noise-${word}`}
                      checked={(state.noise[word] ?? "show") === value}
                      onChange={() => void actions.setNoise(word, value)}
                    />
                    {value}
                  </label>
                ))}
              </fieldset>
            ))}
            <p class="note">
              Counted among what is open now, each box once. The capture stays as it is; edges lead past what is hidden.
            </p>
          </>
        )}
      </Menu>
      <label class="overlay-choice">
        <span class="visually-hidden">Colour by</span>
        <select
          aria-label="Colour by"
          value={state.overlay}
          onChange={(event) => actions.setOverlay(event.currentTarget.value as Overlay)}
        >
          {OVERLAYS.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {scale && <Legend overlay={state.overlay} scale={scale} />}
      <span class="spread" />
      <button type="button" title="Expand all that is visible (e)" onClick={() => void actions.expandAll()}>
        Expand
      </button>
      <button type="button" title="Collapse all (c)" onClick={() => void actions.collapseAll()}>
        Collapse
      </button>
      <button type="button" title="Fit the whole graph (f)" onClick={() => view.fit()}>
        Fit
      </button>
      <button type="button" title="Readable detail (r)" onClick={() => view.readable()}>
        Readable
      </button>
      <button type="button" class="icon" aria-label="Zoom out" title="Zoom out (−)" onClick={() => view.zoom(1 / 1.3)}>
        −
      </button>
      <button type="button" class="icon" aria-label="Zoom in" title="Zoom in (+)" onClick={() => view.zoom(1.3)}>
        +
      </button>
      {setup && (
        <button type="button" aria-pressed={state.editing} onClick={setup}>
          Setup
        </button>
      )}
      <Menu title="Export" name="Export" right>
        {(close) =>
          exports.map((kind) => (
            <button
              type="button"
              key={kind}
              class="item"
              onClick={() => {
                close();
                exportAs(kind);
              }}
            >
              {EXPORTS[kind]}
            </button>
          ))
        }
      </Menu>
      <button type="button" class="icon" aria-label="Keys" title="Keys (?)" onClick={help}>
        ?
      </button>
      {shown && shown.total > shown.nodes.length && (
        <span class="more">
          {shown.nodes.length.toLocaleString("en")} of {plural(shown.total, "node")}
          <button type="button" onClick={() => void actions.more()}>
            Show more
          </button>
        </span>
      )}
    </section>
  );
}

function Menu(props: {
  title: string;
  name: string;
  right?: boolean;
  children: (close: () => void) => ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const close = () => setOpen(false);
  useDismiss(root, open, close);
  return (
    <div class="menu-root" ref={root}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {props.title}
      </button>
      {open && (
        <section class={`popover ${props.right ? "right" : ""}`} aria-label={props.name}>
          {props.children(close)}
        </section>
      )}
    </div>
  );
}

function Legend({ overlay, scale }: { overlay: Overlay; scale: Scale }) {
  const known = OVERLAYS.find(({ id }) => id === overlay);
  if (!scale.high) return <span class="legend note">nothing to colour here</span>;
  return (
    <span class="legend" title={known?.help}>
      {scale.low}
      <span class="ramp" aria-hidden="true">
        {Array.from({ length: 9 }, (_, step) => (
          <i key={step} class={`scale-${step}`} />
        ))}
      </span>
      {scale.high}
      {overlay !== "depth" && <span class="note"> derived from shapes</span>}
    </span>
  );
}
