// What stands where the graph would: nothing yet, a trace that runs, and everything that keeps one from running, each
// with what the person can do now.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Actions } from "../actions/actions";
import type * as p from "../protocol";
import type { Loading, State, Trouble } from "../state";
import { elapsedText } from "../text";
import { FrameList } from "./inspector";
import { Prose } from "./prose";

type GoTo = ((frame: p.FrameInfo) => void) | undefined;

/** Kinds of errors by what they mean for the person. */
const LOOKS: Readonly<Record<string, { look: string; title: string }>> = {
  notTrusted: { look: "trust", title: "This folder is not trusted yet" },
  unsavedSource: { look: "save", title: "Some files are not saved" },
  setupRequired: { look: "setup", title: "Some values are still missing" },
  setupInvalid: { look: "setup", title: "The setup has mistakes" },
  environmentInvalid: { look: "environment", title: "The Python environment is not ready" },
  deviceUnavailable: { look: "environment", title: "The device is not available" },
  traceFailed: { look: "failed", title: "The trace failed" },
  traceTimeout: { look: "failed", title: "The trace took too long" },
  workerCrashed: { look: "failed", title: "The traced process ended" },
  limitExceeded: { look: "failed", title: "The program is over a limit" },
  cancelled: { look: "gone", title: "Cancelled" },
  pageGone: { look: "gone", title: "This page is closed" },
  captureGone: { look: "gone", title: "This graph is not held any more" },
  targetNotFound: { look: "gone", title: "The model is not in the source" },
  noWorkspace: { look: "gone", title: "There is no folder" },
};

/** States in which nothing ran yet: what the source declares is shown beside them. */
const BEFORE_TRACE = new Set(["trust", "save", "setup", "environment"]);

export function lookOf(trouble: Trouble): { look: string; title: string } {
  return LOOKS[trouble.kind] ?? { look: "failed", title: "Something went wrong" };
}

export function Waiting({
  state,
  actions,
  goTo,
  form,
}: {
  state: State;
  actions: Actions;
  goTo: GoTo;
  form: ComponentChildren;
}) {
  if (state.loading)
    return (
      <LoadingState
        loading={state.loading}
        target={state.open?.target?.name ?? state.open?.profile}
        actions={actions}
      />
    );
  if (state.trouble) {
    const { look } = lookOf(state.trouble);
    return (
      <div class={`state-page ${BEFORE_TRACE.has(look) ? "with-preview" : ""}`}>
        <TroubleState
          trouble={state.trouble}
          actions={actions}
          goTo={goTo}
          form={look === "setup" ? form : undefined}
          complete={look === "setup" && state.setupComplete}
        />
        {BEFORE_TRACE.has(look) && state.preview && <Preview preview={state.preview} />}
      </div>
    );
  }
  if (state.host === "connecting") {
    return (
      <section class="state connecting" aria-label="Connecting">
        <h2>Connecting…</h2>
      </section>
    );
  }
  return (
    <section class="state empty" aria-label="No graph">
      <h2>No graph yet</h2>
      <p>
        In your editor, press <em>Open as Graph</em> above a model. In a terminal: <code>tvls open FILE:TARGET</code>.
      </p>
    </section>
  );
}

export function LoadingState({
  loading,
  target,
  actions,
}: {
  loading: Loading;
  target: string | undefined;
  actions: Actions;
}) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="state loading" aria-label="Loading" aria-busy="true">
      <h2>Tracing {target ?? "the model"}</h2>
      <p>
        <span class="spinner" aria-hidden="true" /> <span class="phase">{loading.phase}</span>{" "}
        <span class="elapsed">{elapsedText(Math.max(0, now - loading.since))}</span>
      </p>
      {!loading.elsewhere && (
        <p>
          <button type="button" onClick={() => actions.cancel()}>
            Cancel
          </button>
        </p>
      )}
    </section>
  );
}

export function TroubleState(props: {
  trouble: Trouble;
  actions: Actions;
  goTo: GoTo;
  form: ComponentChildren;
  /** What was wrong with the setup is put right in the form, and not saved yet. */
  complete?: boolean;
}) {
  const { trouble, actions, goTo, form, complete } = props;
  const { look } = lookOf(trouble);
  const title = complete ? "All values are given" : lookOf(trouble).title;
  const data = complete ? undefined : trouble.data;
  return (
    <section class={`state ${look}`} aria-label={title}>
      <h2>{title}</h2>
      {!complete && (
        <p class="message">
          <Prose text={trouble.message} />
        </p>
      )}
      {data?.nextStep && (
        <p class="next">
          <Prose text={data.nextStep} />
        </p>
      )}
      {(data?.files ?? []).length > 0 && (
        <ul class="plain">
          {data?.files?.map((file) => (
            <li key={file} class="mono">
              {file}
            </li>
          ))}
        </ul>
      )}
      {form}
      {!form && (data?.missing ?? []).length > 0 && (
        <ul class="plain missing">
          {data?.missing?.map((missing) => (
            <li key={missing.key}>
              <span class="mono">{missing.parameter}</span>{" "}
              {missing.annotation && <span class="mono">: {missing.annotation}</span>}
            </li>
          ))}
        </ul>
      )}
      {(data?.problems ?? []).length > 0 && (
        <ul class="plain">
          {data?.problems?.map((problem) => (
            <li key={problem.key}>
              <span class="mono">{problem.key}</span>: <Prose text={problem.message} />
            </li>
          ))}
        </ul>
      )}
      {data?.exception && !trouble.message.includes(data.exception) && <p class="mono exception">{data.exception}</p>}
      {(data?.frames ?? []).length > 0 && (
        <>
          <h3>Where</h3>
          <FrameList frames={data?.frames ?? []} goTo={goTo} />
        </>
      )}
      {data?.stderr && (
        <details>
          <summary>What the process printed last</summary>
          <pre>{data.stderr}</pre>
        </details>
      )}
      <p class="buttons">
        <button type="button" class={form ? "" : "primary"} onClick={() => void actions.open()}>
          Try again
        </button>
      </p>
    </section>
  );
}

/** What the source declares, before anything may run. */
function Preview({ preview }: { preview: p.PreviewResult }) {
  return (
    <section class="preview" aria-label="Source-only preview">
      <h2>
        {preview.name} <span class="tag">source only</span>
      </h2>
      <p class="note">
        Read from the text; nothing ran, and no shape is known.
        {preview.approximate ? " The text does not parse as it is now." : ""}
      </p>
      {(preview.fields ?? []).length > 0 && (
        <>
          <h3>Declares</h3>
          <ul class="plain mono">
            {preview.fields?.map((field) => (
              <li key={field.name}>
                {field.name}
                {field.annotation && `: ${field.annotation}`}
                {field.default && ` = ${field.default}`}
              </li>
            ))}
          </ul>
        </>
      )}
      {(preview.submodules ?? []).length > 0 && (
        <>
          <h3>Submodules</h3>
          <ul class="plain mono">
            {preview.submodules?.map((submodule) => (
              <li key={submodule.name}>
                {submodule.name} = {submodule.text}
              </li>
            ))}
          </ul>
        </>
      )}
      {preview.methods?.map((method) => (
        <div key={method.name}>
          <h3 class="mono">{method.signature}</h3>
          <ol class="calls">
            {method.calls?.map((call, index) => (
              <li key={index} class={call.submodule ? "submodule" : ""}>
                {(call.within ?? []).map((around) => (
                  <span key={around} class="within">
                    {around}:{" "}
                  </span>
                ))}
                <span class="mono">{call.text}</span>
              </li>
            ))}
          </ol>
        </div>
      ))}
    </section>
  );
}

/** Above a graph that is still shown: what became of it, or of the attempt to renew it. */
export function Banner({ state, actions, goTo }: { state: State; actions: Actions; goTo: GoTo }) {
  const { trouble, capture, loading } = state;
  if (state.host === "disconnected" || state.host === "refused") {
    return (
      <div class="banner disconnected" role="alert">
        <strong>Disconnected.</strong>{" "}
        {state.host === "refused" ? state.hostReason : "The server does not answer; connecting again…"}
      </div>
    );
  }
  if (loading) {
    return (
      <div class="banner busy">
        <span class="spinner" aria-hidden="true" /> Tracing again: {loading.phase}
        {!loading.elsewhere && (
          <button type="button" onClick={() => actions.cancel()}>
            Cancel
          </button>
        )}
      </div>
    );
  }
  if (trouble) {
    return (
      <details class={`banner ${lookOf(trouble).look}`}>
        <summary>
          <strong>{lookOf(trouble).title}.</strong> <Prose text={trouble.message.split("\n")[0] ?? ""} />{" "}
          <em>The graph before it is still shown.</em>
        </summary>
        <TroubleState trouble={trouble} actions={actions} goTo={goTo} form={undefined} />
      </details>
    );
  }
  if (capture?.freshness === "stale" && !state.saved) {
    return (
      <div class="banner stale">
        <strong>Stale.</strong> The source changed since this was traced.
        <button type="button" onClick={() => void actions.open()}>
          Refresh
        </button>
      </div>
    );
  }
  if (state.changes) return <div class="banner changes">{state.changes}</div>;
  return null;
}
