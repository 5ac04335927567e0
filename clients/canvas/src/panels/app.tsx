// The page around the picture: header, toolbar, states, inspector.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Actions } from "../actions/actions";
import type { Scale } from "../overlay";
import type * as p from "../protocol";
import type { State, Store } from "../state";
import { bodyText, lastPart } from "../text";
import { Badges } from "./badges";
import { Help } from "./help";
import { Inspector } from "./inspector";
import { SearchBox } from "./search";
import { Banner, Waiting } from "./states";
import { type ExportKind, Toolbar } from "./toolbar";

export interface AppProps {
  state: State;
  store: Store;
  actions: Actions;
  scale: Scale | undefined;
  view: { fit(): void; readable(): void; zoom(factor: number): void };
  goTo: ((frame: p.FrameInfo) => void) | undefined;
  exportAs: (kind: ExportKind) => void;
  exports: readonly ExportKind[];
  form: ComponentChildren;
  /** Where the picture is put, once. */
  mount: (element: HTMLElement | null) => void;
}

/** Has the focus when it comes: what is below it is next for the keyboard and for screen readers. */
function Heading({ text }: { text: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <h2 ref={heading} tabIndex={-1}>
      {text}
    </h2>
  );
}

export function App(props: AppProps) {
  const { state, store, actions, goTo } = props;
  const { capture, shown } = state;
  const body = shown?.bodies.at(-1);
  const leaveForm = () => {
    store.set({ editing: false });
    if (!shown) void actions.open();
  };
  return (
    <div class={`app ${state.host === "disconnected" || state.host === "refused" ? "offline" : ""}`}>
      <header>
        <Title state={state} />
        {capture && shown && (
          <Badges
            capture={capture}
            saved={state.saved}
            refresh={() => void actions.open()}
            measure={(what) => void actions.open({ measure: what })}
          />
        )}
        <span class="spread" />
        {shown && <SearchBox state={state} actions={actions} />}
      </header>
      {shown && (
        <Toolbar
          state={state}
          actions={actions}
          scale={props.scale}
          view={props.view}
          exportAs={props.exportAs}
          exports={props.exports}
          help={() => store.set({ help: true })}
          setup={state.saved ? undefined : state.open && (() => store.set({ editing: !state.editing }))}
        />
      )}
      <main>
        {state.editing && (
          <div class="state-page">
            {shown && <Banner state={state} actions={actions} goTo={goTo} />}
            <section class="state setup" aria-label="Setup">
              <Heading text="Setup" />
              {props.form}
              <p class="buttons">
                <button type="button" onClick={leaveForm}>
                  {shown ? "Back to the graph" : "Open as it is"}
                </button>
              </p>
            </section>
          </div>
        )}
        <div
          class={`stage ${shown && !state.editing ? "" : "hidden"} ${capture?.freshness === "stale" ? "is-stale" : ""}`}
        >
          {shown && shown.bodies.length > 0 && (
            <nav class="breadcrumb" aria-label="Bodies">
              <button type="button" class="link" onClick={() => void actions.leaveBody(0)}>
                {capture?.name ?? "program"}
              </button>
              {shown.bodies.map((step, index) => (
                <span key={step.id}>
                  {" › "}
                  {index === shown.bodies.length - 1 ? (
                    <strong>
                      {step.role} of {step.label}
                    </strong>
                  ) : (
                    <button type="button" class="link" onClick={() => void actions.leaveBody(index + 1)}>
                      {step.role} of {step.label}
                    </button>
                  )}
                </span>
              ))}
              {body && (
                <span class="claim">
                  {bodyText(body.role).what}; {bodyText(body.role).ran}
                </span>
              )}
            </nav>
          )}
          <div class="canvas-frame">
            {shown && !state.editing && <Banner state={state} actions={actions} goTo={goTo} />}
            <div class="canvas" ref={props.mount} />
          </div>
        </div>
        {!shown && <Offline state={state} />}
        {!shown && !state.editing && <Waiting state={state} actions={actions} goTo={goTo} form={props.form} />}
        {shown && !state.editing && state.inspector && state.selected !== undefined && (
          <aside aria-label="Inspector" class="inspector">
            <button
              type="button"
              class="icon close"
              aria-label="Hide the inspector"
              onClick={() => store.set({ inspector: false })}
            >
              ×
            </button>
            <Inspector state={state} actions={actions} goTo={goTo} />
          </aside>
        )}
        {shown && !state.inspector && state.selected !== undefined && (
          <button type="button" class="show-inspector" onClick={() => store.set({ inspector: true })}>
            Inspector
          </button>
        )}
      </main>
      <div class="said" role="status" aria-live="polite">
        {state.said}
      </div>
      {state.help && <Help close={() => store.set({ help: false })} />}
    </div>
  );
}

function Title({ state }: { state: State }) {
  const { capture, open } = state;
  const name = capture?.name ?? open?.target?.name ?? open?.profile ?? "TensorViz";
  const uri = capture?.uri ?? open?.target?.uri;
  const profile = capture?.profile ?? open?.profile;
  return (
    <h1 title={uri && decodeURIComponent(uri)}>
      {name}
      <small>
        {uri && ` ${lastPart(decodeURIComponent(uri).replace(/\.py$/, ""))}.py`}
        {profile && profile !== name && ` · ${profile}`}
      </small>
    </h1>
  );
}

function Offline({ state }: { state: State }) {
  if (state.host !== "disconnected" && state.host !== "refused") return null;
  return (
    <div class="banner disconnected" role="alert">
      <strong>Disconnected.</strong>{" "}
      {state.host === "refused" ? state.hostReason : "The server does not answer; connecting again…"}
    </div>
  );
}
