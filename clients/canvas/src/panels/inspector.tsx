// Everything known of the selected node.
import type { ComponentChildren } from "preact";
import type { Actions } from "../actions/actions";
import { USES_LISTED } from "../actions/look";
import { documentation } from "../documentation";
import { isFunction } from "../model";
import type * as p from "../protocol";
import type { State } from "../state";
import { bodyText, countText, lastPart, longTypeText, measuredTexts, opaqueType, paramText, plural } from "../text";
import { CostRows } from "./badges";

interface Props {
  state: State;
  actions: Actions;
  /** Shows a place in the editor; absent where there is none. */
  goTo: ((frame: p.FrameInfo) => void) | undefined;
}

export function Inspector({ state, actions, goTo }: Props) {
  const { selected, shown, details, detailsTrouble } = state;
  const box = selected === undefined ? undefined : shown?.picture.boxes.get(selected);
  if (!box || !shown) return null;
  const node = details?.node ?? box.node;
  const primitive = details?.primitive;
  const link = primitive && documentation(primitive);
  const fold = box.node.fold;
  return (
    <div class="inspector-body">
      <h2>
        <span class="kind">{kindText(node)}</span>
        <span class="name">{node.label}</span>
      </h2>
      {primitive && primitive !== node.label && <p class="mono">{primitive}</p>}
      {link && (
        <p>
          <a href={link.address} target="_blank" rel="noreferrer noopener">
            {link.library} documentation of {node.label}
          </a>
        </p>
      )}
      {node.className && <p class="mono">{node.className}</p>}
      {node.opaque && (
        <p class="note">
          {node.bodies?.length
            ? "One operation here; its body is a graph of its own."
            : "What it does inside is not part of the graph."}
        </p>
      )}
      {node.segment && (
        <p class="note">
          Part {node.segment.number} of {node.segment.count} of this scope: what it reads in between is made outside of
          it.
        </p>
      )}
      {box.expandable && (
        <p class="buttons">
          <button type="button" onClick={() => void actions.toggle(box.id)}>
            {box.expanded ? "Collapse" : "Expand"}
          </button>
        </p>
      )}
      {(node.bodies ?? []).length > 0 && (
        <Section title="Bodies">
          {node.bodies?.map((body) => (
            <div key={body.id}>
              <button type="button" onClick={() => void actions.enterBody(box.id, body.id)}>
                Open {body.role} ({plural(body.operations, "operation")})
              </button>{" "}
              <span class="note">
                {bodyText(body.role).what}; {bodyText(body.role).ran}
              </span>
            </div>
          ))}
        </Section>
      )}
      {fold && <Fold state={state} actions={actions} id={box.id} fold={fold} />}
      {detailsTrouble && <p class="error">{detailsTrouble}</p>}
      {!details && !detailsTrouble && <p class="note">Loading…</p>}
      {details && (
        <>
          <Operands operands={details.operands ?? []} scope={box.expandable} actions={actions} state={state} />
          <Results results={details.results ?? []} actions={actions} state={state} />
          <Values title="Parameters and state" values={node.state ?? []} total={node.stateTotal} />
          <Values title="Constants" values={node.constants ?? []} total={node.constantsTotal} />
          <Params
            title={state.capture?.framework === "torch" ? "Other arguments" : "Parameters of the primitive"}
            params={details.params ?? {}}
          />
          {node.costs && (
            <Section title="Costs, derived from shapes">
              <CostRows costs={node.costs} />
            </Section>
          )}
          {(details.scopePath ?? []).length > 0 && (
            <Section title="Scope">
              <p class="mono path">{details.scopePath?.join(" / ")}</p>
            </Section>
          )}
          <Frames frames={details.frames ?? []} goTo={goTo} stale={details.freshness === "stale"} />
          {details.defined && (
            <Section title="Defined in">
              <FrameList frames={[details.defined]} goTo={goTo} />
            </Section>
          )}
        </>
      )}
    </div>
  );
}

function kindText(node: p.Node): string {
  if (node.kind === "scope") return node.scopeKind ?? "scope";
  if (isFunction(node)) return "function";
  return node.bodies?.length || node.opaque ? "boundary" : node.kind;
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Fold({ state, actions, id, fold }: { state: State; actions: Actions; id: string; fold: p.FoldInfo }) {
  const at = fold.instance ?? 0;
  return (
    <Section title={`Repeated ×${fold.count}`}>
      <p>
        {fold.first} … {fold.last}: equal in structure{fold.chained ? ", each reads what the one before made" : ""}.
      </p>
      <p class="buttons">
        <button type="button" aria-label="Previous instance" onClick={() => void actions.step(id, -1)}>
          ‹
        </button>
        <label>
          shown:{" "}
          <select
            value={String(at)}
            onChange={(event) => void actions.showInstance(id, Number(event.currentTarget.value))}
          >
            {(state.fold?.instances ?? []).map((instance, index) => (
              <option key={instance.node} value={String(index)}>
                {instance.path || instance.label}
              </option>
            ))}
            {!state.fold && <option value={String(at)}>{at + 1}</option>}
          </select>
        </label>
        <button type="button" aria-label="Next instance" onClick={() => void actions.step(id, 1)}>
          ›
        </button>
      </p>
      {(state.fold?.differences ?? []).length > 0 && (
        <>
          <h4>They differ in</h4>
          <ul class="plain">
            {state.fold?.differences?.map((difference) => (
              <li key={`${difference.node}${difference.name}`}>
                <span class="mono">
                  {lastPart(difference.node)} {difference.name}
                </span>
                : {difference.values.join(", ")}
              </li>
            ))}
          </ul>
        </>
      )}
      <h4>All {fold.count} together</h4>
      <CostRows costs={fold.costs} />
    </Section>
  );
}

function NodeLink({ id, state, actions }: { id: string; state: State; actions: Actions }) {
  const known = state.shown?.picture.boxes.get(id);
  const label = known?.node.label ?? state.names.get(id) ?? "a node in a closed scope";
  return (
    <button
      type="button"
      class="link"
      title={id}
      onClick={() => {
        if (known) actions.select(id);
        else void actions.findById(id);
      }}
    >
      {label}
    </button>
  );
}

function Operands(props: { operands: p.OperandInfo[]; scope: boolean; actions: Actions; state: State }) {
  if (props.operands.length === 0) return null;
  return (
    <Section title={props.scope ? "Reads" : "Operands"}>
      <ol class="values" start={0}>
        {props.operands.map((operand, index) => (
          <li key={index}>
            <span class="position">{index}</span>
            {operand.literal !== undefined && <span class="mono literal">{paramText(operand.literal)}</span>}
            {operand.value && <Type value={operand.value} />}
            {operand.producer ? (
              <span class="from">
                from <NodeLink id={operand.producer} state={props.state} actions={props.actions} />
              </span>
            ) : (
              operand.value?.role &&
              operand.value.role !== "intermediate" && <span class="from">{operand.value.role}</span>
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Results({ results, actions, state }: { results: p.ResultInfo[]; actions: Actions; state: State }) {
  if (results.length === 0) return null;
  return (
    <Section title={results.length === 1 ? "Result" : "Results"}>
      <ol class="values" start={0}>
        {results.map((result, index) => (
          <li key={index}>
            <span class="position">{index}</span>
            <Type value={result.value} />
            {measuredTexts(result.value).map((text) => (
              <span key={text} class="from">
                {text}
              </span>
            ))}
            <span class="from">
              {(result.uses ?? []).length === 0 && "not used"}
              {(result.uses ?? []).slice(0, USES_LISTED).map((use, at) => (
                <span key={`${use.node}${use.argument}`}>
                  {at === 0 ? "to " : ", "}
                  <NodeLink id={use.node} state={state} actions={actions} />
                </span>
              ))}
              {moreUses(result)}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function moreUses(result: p.ResultInfo): string {
  const total = result.usesTotal ?? result.uses?.length ?? 0;
  return total > USES_LISTED ? ` and ${total - USES_LISTED} more` : "";
}

function Type({ value }: { value: p.ValueInfo }) {
  return (
    <span class="type">
      {value.name && <span class="value-name">{value.name} </span>}
      <span class="mono">{longTypeText(value)}</span>
      {value.sharding && <span class="mono sharding"> {value.sharding}</span>}
    </span>
  );
}

function Values({ title, values, total }: { title: string; values: p.ValueInfo[]; total: number | undefined }) {
  if (values.length === 0) return null;
  return (
    <Section title={title}>
      <ul class="values">
        {values.map((value, index) => (
          <li key={index}>
            <Type value={value} />
          </li>
        ))}
      </ul>
      {total !== undefined && total > values.length && <p class="note">and {countText(total - values.length)} more</p>}
    </Section>
  );
}

const LONG = 60;

function Params({ title, params }: { title: string; params: Record<string, unknown> }) {
  const entries = Object.entries(params);
  if (entries.length === 0) return null;
  return (
    <Section title={title}>
      <dl class="params">
        {entries.map(([name, value]) => {
          const text = paramText(value);
          const opaque = opaqueType(value);
          return (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="mono">
                {opaque ? (
                  <span class="opaque" title="Not plain data; only its type is recorded.">
                    {opaque}
                  </span>
                ) : text.length > LONG ? (
                  <details>
                    <summary>{text.slice(0, LONG)}…</summary>
                    <pre>{JSON.stringify(value, null, 2)}</pre>
                  </details>
                ) : (
                  text
                )}
              </dd>
            </div>
          );
        })}
      </dl>
    </Section>
  );
}

export function Frames({
  frames,
  goTo,
  stale,
}: {
  frames: p.FrameInfo[];
  goTo: ((frame: p.FrameInfo) => void) | undefined;
  stale: boolean;
}) {
  if (frames.length === 0) return null;
  const own = frames.filter((frame) => frame.workspace);
  const rest = frames.filter((frame) => !frame.workspace);
  return (
    <Section title="Source">
      {stale && <p class="note">The code changed since; lines are where the traced text is now.</p>}
      <FrameList frames={own} goTo={goTo} />
      {rest.length > 0 && (
        <details>
          <summary>{plural(rest.length, "library frame")}</summary>
          <FrameList frames={rest} goTo={goTo} />
        </details>
      )}
    </Section>
  );
}

export function FrameList({
  frames,
  goTo,
}: {
  frames: p.FrameInfo[];
  goTo: ((frame: p.FrameInfo) => void) | undefined;
}) {
  return (
    <ul class="frames">
      {frames.map((frame, index) => {
        const place = `${frame.path}:${frame.line}`;
        return (
          <li key={index}>
            {goTo && frame.location ? (
              <button type="button" class="link mono" onClick={() => goTo(frame)}>
                {place}
              </button>
            ) : (
              <span class="mono">{place}</span>
            )}{" "}
            <span class="function">{frame.function}</span>
          </li>
        );
      })}
    </ul>
  );
}
