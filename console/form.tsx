import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { jsonFault } from "../core/http/json/json-fault.ts";

/** One thing at a time: what runs, how it failed, and how to end it. */
export function useRun() {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const current = useRef<AbortController | null>(null);
  useEffect(() => () => current.current?.abort(), []);
  const run = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const over = new AbortController();
    current.current = over;
    setRunning(true);
    setError(null);
    try {
      await work(over.signal);
    } catch (failure) {
      if (!over.signal.aborted)
        setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      setRunning(false);
    }
  };
  return { isRunning, error, run, stop: () => current.current?.abort() };
}

interface FormProps {
  readonly action: string;
  /** @default false */
  readonly disabled?: boolean;
  readonly state: ReturnType<typeof useRun>;
  readonly onRun: (signal: AbortSignal) => Promise<void>;
  /** A second action on the same fields. */
  readonly other?: { readonly label: string; readonly onRun: FormProps["onRun"] };
  readonly children: ComponentChildren;
}

/** Fields and the button that sends them, with how that went. */
export function Form({ action, disabled = false, state, onRun, other, children }: FormProps) {
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void state.run(onRun);
      }}
    >
      {children}
      <div class="actions">
        <button type="submit" class="primary" disabled={disabled || state.isRunning}>
          {state.isRunning ? "Working …" : action}
        </button>
        {other !== undefined && (
          <button
            type="button"
            disabled={disabled || state.isRunning}
            onClick={(event) => {
              if (event.currentTarget.form?.reportValidity() === true) void state.run(other.onRun);
            }}
          >
            {other.label}
          </button>
        )}
        {state.isRunning && (
          <button type="button" onClick={state.stop}>
            Stop
          </button>
        )}
      </div>
      {state.error !== null && (
        <p class="error" role="alert">
          {state.error}
        </p>
      )}
    </form>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** Attributes of the input. It is required unless they say otherwise. */
  readonly input?: InputHTMLAttributes;
}

/** A labelled line of text. */
export function Field({ label, value, onInput, input }: FieldProps) {
  return (
    <label>
      {label}
      <input
        required
        {...input}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** A field of a {@link RecordForm}. Values are texts; a tick is "on" or empty. */
export interface FieldSpec {
  readonly label: string;
  /** @default "text" */
  readonly kind?: "text" | "number" | "check" | "area" | "code";
  /** The texts of a choice by value. */
  readonly options?: Readonly<Record<string, string>>;
  readonly hint?: string;
  /** Whether it waits behind "More"; such a field may stay empty. */
  readonly isMore?: boolean;
  /** Attributes of the input. It is required unless they, or {@link isMore}, say otherwise. */
  readonly input?: Readonly<Record<string, string | number | boolean>> & {
    readonly required?: boolean;
  };
}

/** The values of a {@link RecordForm} by field. */
export type Values<Name extends string> = Readonly<Record<Name, string>>;

interface RecordFormProps<Name extends string> {
  readonly action: string;
  readonly fields: Readonly<Record<Name, FieldSpec>>;
  /** @default empty fields, and the first of each choice */
  readonly initial?: Partial<Values<Name>>;
  /** Whether the values stay after they were saved. @default false */
  readonly isKept?: boolean;
  readonly disabled: boolean;
  readonly onSave: (values: Values<Name>, signal: AbortSignal) => Promise<void>;
}

/** A form whose fields are described as data. It begins again once it has saved something new. */
export function RecordForm<Name extends string>(props: RecordFormProps<Name>) {
  const { action, fields, initial = {}, isKept = false, disabled, onSave } = props;
  const names = Object.keys(fields) as Name[];
  const begin = (): Values<Name> => {
    const given: Partial<Record<string, string>> = initial;
    const entries = names.map((name) => [
      name,
      given[name] ?? Object.keys(fields[name].options ?? {})[0] ?? "",
    ]);
    return Object.fromEntries(entries) as Values<Name>;
  };
  const [values, setValues] = useState(begin);
  const state = useRun();
  const save = async (signal: AbortSignal): Promise<void> => {
    await onSave(values, signal);
    if (!isKept) setValues(begin());
  };
  const show = (name: Name) => (
    <SpecField
      key={name}
      spec={fields[name]}
      value={values[name]}
      onInput={(value) => setValues((before) => ({ ...before, [name]: value }))}
    />
  );
  const more = names.filter((name) => fields[name].isMore === true);
  return (
    <Form action={action} state={state} disabled={disabled} onRun={save}>
      <div class="fields">{names.filter((name) => fields[name].isMore !== true).map(show)}</div>
      {more.length > 0 && (
        <details class="more">
          <summary>More</summary>
          <div class="fields">{more.map(show)}</div>
        </details>
      )}
    </Form>
  );
}

interface SpecFieldProps {
  readonly spec: FieldSpec;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function SpecField({ spec, value, onInput }: SpecFieldProps) {
  const id = useId();
  const { label, kind = "text", options, hint, isMore = false, input = {} } = spec;
  const described = hint === undefined ? {} : { "aria-describedby": id };
  const isRequired = input.required ?? !isMore;
  const numeric = kind === "number" ? { type: "number", min: 0, step: "any" } : {};
  const attributes = { ...numeric, ...described, ...input, required: isRequired };
  return (
    <div class={kind === "area" || kind === "code" ? "whole" : ""}>
      {kind === "check" ? (
        <Tick
          label={label}
          isTicked={value === "on"}
          onTick={(isOn) => onInput(isOn ? "on" : "")}
          {...described}
        />
      ) : options !== undefined ? (
        <Choice label={label} value={value} options={options} onChoose={onInput} />
      ) : kind === "area" || kind === "code" ? (
        <Area
          label={label}
          rows={4}
          isCode={kind === "code"}
          isRequired={isRequired}
          value={value}
          onInput={onInput}
        />
      ) : (
        <Field
          label={label}
          value={value}
          input={attributes as InputHTMLAttributes}
          onInput={onInput}
        />
      )}
      {hint !== undefined && (
        <p id={id} class="muted small">
          {hint}
        </p>
      )}
    </div>
  );
}

/** The entries of a text with commas or lines. */
export function listOf(text: string): string[] {
  return text
    .split(/[,\n]/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

/** The number of a field, or another value where it is empty. */
export function numberOr<T>(text: string, empty: T): number | T {
  return text.trim() === "" ? empty : Number(text);
}

/** The JSON of a field, or another value where it is empty. Throws an error that names the field and the place of the mistake. */
export function jsonOr(label: string, text: string, empty: unknown): unknown {
  if (text.trim() === "") return empty;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = jsonFault(text);
    const place = fault === null ? "" : `: ${fault}`;
    throw new Error(`${label}: this is not JSON${place}`, { cause });
  }
}

/** The JSON object of a field. */
export function jsonObject(label: string, text: string): object {
  const value = jsonOr(label, text, null);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Error(`${label}: expected an object, such as {"name": "value"}`);
}

interface TickProps {
  readonly label: string;
  readonly isTicked: boolean;
  readonly onTick: (isTicked: boolean) => void;
  readonly "aria-describedby"?: string;
}

/** A labelled box to tick. */
export function Tick({ label, isTicked, onTick, ...described }: TickProps) {
  return (
    <label class="choice">
      <input
        type="checkbox"
        checked={isTicked}
        onChange={(event) => onTick(event.currentTarget.checked)}
        {...described}
      />
      {label}
    </label>
  );
}

interface AreaProps extends Omit<FieldProps, "input"> {
  readonly rows: number;
  /** Shown with a fixed width. @default false */
  readonly isCode?: boolean;
  /** @default true */
  readonly isRequired?: boolean;
}

/** A labelled text of several lines. */
export function Area(props: AreaProps) {
  const { label, value, rows, isCode = false, isRequired = true, onInput } = props;
  return (
    <label>
      {label}
      <textarea
        rows={rows}
        required={isRequired}
        spellcheck={!isCode}
        class={isCode ? "mono" : ""}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly onChoose: (value: string) => void;
}

/** A labelled choice; `options` are the texts by value. */
export function Choice({ label, value, options, onChoose }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {Object.entries(options).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The place where a result appears. */
export function Output(props: {
  readonly title: string;
  readonly isEmpty: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="card output" aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.isEmpty ? <p class="muted">Nothing yet.</p> : props.children}
    </section>
  );
}
