// What a graph is, in words that explain themselves when they are pressed.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type * as p from "../protocol";
import { bytesText, countText, flopsText, lastPart, MEASUREMENTS, type Measurement, measured, plural } from "../text";
import { useDismiss } from "./dismiss";

interface Props {
  capture: p.CaptureInfo;
  saved: boolean;
  refresh: () => void;
  measure: (what: Measurement[]) => void;
}

export function Badges({ capture, saved, refresh, measure }: Props) {
  const { coverage, freshness, costs } = capture;
  return (
    <div class="badges">
      <Badge name="framework" text={frameworkText(capture)}>
        <p>Traced with these versions, in the Python that is selected for this folder.</p>
        <table>
          <tbody>
            {Object.entries(capture.versions).map(([library, version]) => (
              <tr key={library}>
                <th scope="row">{library}</th>
                <td>{version}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {(capture.notes ?? []).map((note) => (
          <p key={note}>{noteText(note)}</p>
        ))}
      </Badge>
      <Badge name="evidence" text={capture.evidence} tone={capture.evidence === "inferred" ? "quiet" : "good"}>
        {capture.evidence === "inferred" ? (
          <p>
            Shapes and dtypes follow from tracing the program with abstract values. No kernel ran, and nothing was
            measured.
          </p>
        ) : (
          <p>Shapes and dtypes were observed while the model ran once.</p>
        )}
      </Badge>
      {capture.framework === "torch" && !saved && <Measurements capture={capture} measure={measure} />}
      <Badge name="coverage" text={coverageText(coverage)} tone={coverage.status === "complete" ? "good" : "warn"}>
        {coverage.status === "complete" ? (
          <p>
            Every operation of the {coverage.scope === "traced_program" ? "traced program" : "forward pass"} is part of
            this graph.
          </p>
        ) : (
          coverage.reasons.map((reason) => <p key={reason}>{reasonText(reason, coverage.counts?.[reason])}</p>)
        )}
      </Badge>
      {saved ? (
        <Badge name="freshness" text="saved">
          <p>This graph was saved in a file. Nothing here tells whether the code is still what was traced.</p>
        </Badge>
      ) : (
        <Badge name="freshness" text={freshness} tone={freshness === "fresh" ? "good" : "warn"}>
          {freshness === "fresh" ? (
            <p>Files, profile, interpreter and libraries are those that were traced.</p>
          ) : (
            <>
              <p>This graph is of an earlier state. Since then changed:</p>
              <ul>
                {staleTexts(capture.stale).map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            </>
          )}
          {freshness === "stale" && (
            <button type="button" onClick={refresh}>
              Trace again
            </button>
          )}
        </Badge>
      )}
      {costs && (
        <Badge name="totals" text={totalsText(costs)} tone="quiet">
          <p>Derived from shapes, not measured.</p>
          <CostRows costs={costs} />
        </Badge>
      )}
    </div>
  );
}

/** What can be measured of a model that runs, each with what it costs before it is asked for. */
function Measurements({ capture, measure }: { capture: p.CaptureInfo; measure: (what: Measurement[]) => void }) {
  const taken = measured(capture);
  return (
    <Badge name="measurements" text={taken.length ? `${taken.length} measured` : "measure…"} tone="quiet">
      <ul class="plain measurements">
        {MEASUREMENTS.map(([what, name]) => (
          <li key={what}>
            <strong>{name}</strong>
            {capture.evidence === "measured" && !taken.includes(what) && (
              <button type="button" aria-label={`Measure ${name}`} onClick={() => measure([...taken, what])}>
                Measure
              </button>
            )}
            <p>{capture.unavailable?.[what] ?? "Measured: with the results of each operation."}</p>
          </li>
        ))}
      </ul>
    </Badge>
  );
}

export function CostRows({ costs }: { costs: p.Costs }) {
  const rows: [string, string][] = [];
  if (costs.flops !== undefined)
    rows.push(["FLOPs", `${countText(costs.flops)} (${costs.flops.toLocaleString("en")})`]);
  if (costs.contractionFlops) rows.push(["of them contractions", countText(costs.contractionFlops)]);
  if (costs.iterations !== undefined) rows.push(["iterations", costs.iterations.toLocaleString("en")]);
  if (costs.uncounted) rows.push(["not counted", plural(costs.uncounted, "operation")]);
  if (costs.parameters)
    rows.push(["parameters", `${countText(costs.parameters)} (${costs.parameters.toLocaleString("en")})`]);
  if (costs.parameterBytes) rows.push(["their size", bytesText(costs.parameterBytes)]);
  if (costs.stateBytes) rows.push(["other state", bytesText(costs.stateBytes)]);
  if (costs.outputBytes !== undefined) rows.push(["results", bytesText(costs.outputBytes)]);
  return (
    <table>
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Badge(props: { name: string; text: string; tone?: "good" | "warn" | "quiet"; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useDismiss(root, open, () => setOpen(false));
  return (
    <div class="badge-root" ref={root}>
      <button
        type="button"
        class={`badge ${props.tone ?? "quiet"}`}
        data-badge={props.name}
        aria-expanded={open}
        aria-label={`${props.name}: ${props.text}`}
        onClick={() => setOpen(!open)}
      >
        {props.text}
      </button>
      {open && (
        <section class="popover" aria-label={props.name}>
          {props.children}
        </section>
      )}
    </div>
  );
}

function frameworkText(capture: p.CaptureInfo): string {
  const { versions, kind } = capture;
  const flax = kind.startsWith("flax") && versions.flax ? ` · flax ${versions.flax}` : "";
  return `${capture.framework} ${versions[capture.framework] ?? ""}${flax}`.trim();
}

function totalsText(costs: p.Costs): string {
  const parts: string[] = [];
  if (costs.parameters) parts.push(`${countText(costs.parameters)} params`);
  if (costs.flops !== undefined) parts.push(`${costs.uncounted ? "≥ " : ""}${flopsText(costs.flops)}`);
  return parts.join(" · ") || "no costs";
}

export function coverageText(coverage: p.Coverage): string {
  if (coverage.status === "complete") return "complete";
  const opaque = coverage.counts?.opaque_kernel;
  return opaque ? `partial: ${opaque} opaque` : "partial";
}

export function reasonText(reason: string, count: number | undefined): string {
  const what = count === undefined ? "Some operations" : plural(count, "operation");
  const one = count === 1;
  if (reason === "opaque_kernel") {
    return `${what} ${one ? "stands" : "stand"} for a whole subprogram, such as a loop or a kernel. Where its body is known it can be opened; nothing says which branch ran, or how often.`;
  }
  if (reason === "effects_incomplete")
    return `${what} ${one ? "has" : "have"} side effects that are not recorded in full.`;
  return `${what}: ${reason}.`;
}

function noteText(note: string): string {
  const at = note.indexOf(":");
  const word = at < 0 ? note : note.slice(0, at);
  const rest = at < 0 ? "" : note.slice(at + 1);
  if (word === "freshly_initialised") return "Parameters are those of a new model: nothing was trained or loaded.";
  if (word === "axis") return `A named axis that nothing binds was traced as ${rest}.`;
  if (word === "leaked_tracer") return `The global ${rest} kept a traced array after the trace.`;
  return note;
}

function staleTexts(stale: p.Stale | undefined): string[] {
  if (!stale) return ["something that the trace depends on"];
  const texts = (stale.files ?? []).map((file) => file);
  if (stale.profile) texts.push("the profile in tensorviz.toml");
  if (stale.interpreter) texts.push("the interpreter");
  for (const library of stale.libraries ?? []) texts.push(`the library ${lastPart(library)}`);
  return texts.length ? texts : ["something that the trace depends on"];
}
