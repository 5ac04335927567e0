// The setup of a target as a form. The server says what the fields are, what is wrong and what is missing; the page keeps
// only what was typed since.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Host } from "../host";
import type * as p from "../protocol";
import { describe } from "../trouble";
import { Prose } from "./prose";

interface Props {
  host: Host;
  open: p.OpenParams;
  /** The setup is saved: the target can be opened by this profile. */
  opened: (profile: string) => void;
  /** Whether nothing is missing or wrong any more. */
  completed: (complete: boolean) => void;
}

const PAUSE_MS = 200;

export function SetupForm({ host, open, opened, completed }: Props) {
  const [form, setForm] = useState<p.SetupForm>();
  const [trouble, setTrouble] = useState("");
  const [changes, setChanges] = useState<p.SetupChange[]>([]);
  const [toml, setToml] = useState<string>();
  const [saving, setSaving] = useState(false);
  /** The field that is typed in, as it was when that began: it becomes something else when the person is done. */
  const [held, setHeld] = useState<p.SetupField>();
  const pending = useRef<AbortController>();
  const timer = useRef<ReturnType<typeof setTimeout>>();

  const about: p.SetupDraftParams = {};
  if (open.target) about.target = open.target;
  if (open.profile !== undefined) about.profile = open.profile;
  if (open.folder !== undefined) about.folder = open.folder;

  const ask = async (request: (signal: AbortSignal) => Promise<p.SetupForm>) => {
    pending.current?.abort();
    const control = new AbortController();
    pending.current = control;
    try {
      const answer = await request(control.signal);
      if (control.signal.aborted) return undefined;
      setForm(answer);
      setTrouble("");
      return answer;
    } catch (error) {
      if (!control.signal.aborted) setTrouble(describe(error).message);
      return undefined;
    }
  };

  const complete = form?.complete ?? false;
  // Not at once: Preact runs effects in the middle of a rendering where one follows soon, and this draws the whole page.
  useEffect(() => queueMicrotask(() => completed(complete)), [complete]);
  useEffect(() => {
    void ask((signal) => host.request("tvls/setup/draft", about, signal));
    return () => {
      pending.current?.abort();
      clearTimeout(timer.current);
    };
  }, [open]);

  const edited = (next: p.SetupChange[], text: string | undefined) => {
    setChanges(next);
    setToml(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => void ask((signal) => host.request("tvls/setup/validate", sent(next, text), signal)),
      PAUSE_MS,
    );
  };
  const sent = (list: p.SetupChange[], text: string | undefined): p.SetupFormParams => ({
    ...about,
    changes: list,
    ...(text === undefined ? {} : { toml: text }),
  });
  const change = (key: string, text: string) =>
    edited([...changes.filter((known) => known.key !== key), text === "" ? { key } : { key, text }], toml);

  /** Enter: what is typed counts; then to what is still to be filled in, or on to the graph. */
  const enter = async () => {
    clearTimeout(timer.current);
    const answer = await ask((signal) => host.request("tvls/setup/validate", sent(changes, toml), signal));
    if (!answer) return;
    setHeld(undefined);
    if (answer.complete) return save(answer);
    const next = answer.fields.find((field) => !field.parts && !field.advanced && (field.error || isOpen(field)));
    if (next) setTimeout(() => document.getElementById(`field-${next.key}`)?.focus());
  };

  const save = async (form: p.SetupForm) => {
    setSaving(true);
    try {
      const saved = await host.request("tvls/setup/save", { ...sent(changes, toml), version: form.version });
      if (saved.unsaved)
        setTrouble("The profile was written into tensorviz.toml in your editor. Save that file, then try again.");
      else opened(saved.profile);
    } catch (error) {
      setTrouble(describe(error).message);
    } finally {
      setSaving(false);
    }
  };

  if (!form) return trouble ? <p class="error">{trouble}</p> : <p class="note">Reading what the source says…</p>;
  const typed = new Map(changes.map((known) => [known.key, known.text ?? ""]));
  const missing = form.fields.filter(isOpen).length;
  const shown = holding(form.fields, held);
  return (
    <form
      class="setup-form"
      onSubmit={(event) => {
        event.preventDefault();
        void save(form);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement) || event.isComposing) return;
        event.preventDefault();
        if (!saving) void enter();
      }}
    >
      {form.groups.map((group) => {
        const fields = shown.filter((field) => field.group === group.id);
        const usual = fields.filter((field) => !field.advanced);
        const rare = fields.filter((field) => field.advanced);
        if (fields.length === 0) return null;
        return (
          <fieldset key={group.id}>
            <legend>{group.title}</legend>
            {group.help && (
              <p class="note">
                <Prose text={group.help} />
              </p>
            )}
            {usual.map((field) => (
              <Field key={field.key} field={field} typed={typed.get(field.key)} change={change} hold={setHeld} />
            ))}
            {rare.length > 0 && (
              <details>
                <summary>More</summary>
                {rare.map((field) => (
                  <Field key={field.key} field={field} typed={typed.get(field.key)} change={change} hold={setHeld} />
                ))}
              </details>
            )}
          </fieldset>
        );
      })}
      <details>
        <summary>As text (tensorviz.toml)</summary>
        <textarea
          aria-label="Profile as TOML"
          rows={8}
          spellcheck={false}
          value={toml ?? form.toml}
          onInput={(event) => edited([], event.currentTarget.value)}
        />
      </details>
      {(form.problems ?? []).map((problem) => (
        <p key={problem.key + problem.message} class="error">
          <span class="mono">{problem.key}</span> <Prose text={problem.message} />
        </p>
      ))}
      {trouble && (
        <p class="error" role="alert">
          {trouble}
        </p>
      )}
      <p class="buttons">
        <button type="submit" class="primary" disabled={!form.complete || saving}>
          Save and open
        </button>{" "}
        <span class="note">
          {form.complete
            ? `Saves the profile ${form.profile} in tensorviz.toml.`
            : missing > 0
              ? `${missing} still to fill in.`
              : "Correct what is marked."}
        </span>
      </p>
    </form>
  );
}

function isOpen(field: p.SetupField): boolean {
  return (field.required ?? false) && !field.parts && (field.text ?? "") === "";
}

/** The fields, with the one that is typed in still the input that it was: without the parts that it will have. */
function holding(fields: readonly p.SetupField[], held: p.SetupField | undefined): readonly p.SetupField[] {
  if (!held) return fields;
  const within = new Set([held.key]);
  const kept: p.SetupField[] = [];
  for (const field of fields) {
    if (field.key === held.key) {
      const { error, ...rest } = held;
      kept.push({ ...rest, text: field.text ?? "", ...(field.error ? { error: field.error } : {}) });
    } else if (within.has(field.parent ?? "")) within.add(field.key);
    else kept.push(field);
  }
  return kept;
}

function Field(props: {
  field: p.SetupField;
  typed: string | undefined;
  change: (key: string, text: string) => void;
  hold: (field: p.SetupField | undefined) => void;
}) {
  const { field, typed, change, hold } = props;
  const id = `field-${field.key}`;
  if (field.parts) {
    return (
      <h4 id={id}>
        {field.label} {field.annotation && <span class="mono note">: {field.annotation}</span>}
      </h4>
    );
  }
  const text = typed ?? field.text ?? "";
  const [help = "", ...more] = (field.help ?? "").split("\n");
  const about = [
    help,
    field.annotation && `annotated ${field.annotation}`,
    field.assumed && "the usual value; nothing states it",
  ]
    .filter(Boolean)
    .join(" · ");
  const common = {
    id,
    "aria-invalid": field.error ? true : undefined,
    "aria-describedby": `${id}-about`,
    required: field.required,
  };
  const options = field.options ?? [];
  return (
    <div class={`field ${field.parent ? "part" : ""}`}>
      <label for={id}>
        {field.label}
        {field.required && <span class={text === "" ? "required" : "note"}> needed</span>}
      </label>
      {field.type === "choice" || field.type === "boolean" ? (
        <select {...common} value={text} onChange={(event) => change(field.key, event.currentTarget.value)}>
          <option value="">{field.default === undefined ? "—" : `default: ${field.default}`}</option>
          {(field.type === "boolean" ? [{ text: "true" }, { text: "false" }] : options).map((option) => (
            <option key={option.text} value={option.text}>
              {option.text}
            </option>
          ))}
        </select>
      ) : (
        <>
          <input
            {...common}
            type="text"
            spellcheck={false}
            autocomplete="off"
            list={options.length ? `${id}-options` : undefined}
            value={text}
            placeholder={field.default !== undefined ? `default: ${field.default}` : EXAMPLES[field.type]}
            onFocus={() => hold(field)}
            // Not for a press on a button, which would move away from under the pointer.
            onBlur={(event) => !(event.relatedTarget instanceof HTMLButtonElement) && hold(undefined)}
            onInput={(event) => change(field.key, event.currentTarget.value)}
          />
          {options.length > 0 && (
            <datalist id={`${id}-options`}>
              {options.map((option) => (
                <option key={option.text} value={option.text} />
              ))}
            </datalist>
          )}
        </>
      )}
      <div id={`${id}-about`} class="about">
        {field.error && (
          <p class="error">
            <Prose text={field.error} />
          </p>
        )}
        {about && (
          <p class="note">
            <Prose text={about} />
          </p>
        )}
        {more.length > 0 && (
          <details>
            <summary>More</summary>
            {more.map((line) => (
              <p key={line} class="note">
                <Prose text={line} />
              </p>
            ))}
          </details>
        )}
      </div>
      {(field.suggestions ?? []).map((suggestion) => (
        <button
          type="button"
          key={suggestion.text + suggestion.source}
          class="suggestion"
          onClick={() => change(field.key, suggestion.text)}
        >
          <span class="mono">{suggestion.text}</span> from {suggestion.source}
        </button>
      ))}
    </div>
  );
}

const EXAMPLES: Readonly<Record<string, string>> = {
  shape: "2, 3",
  tensor: "float32[2, 3]",
  dimension: "8",
  dtype: "float32",
};
