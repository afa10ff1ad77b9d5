import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

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
  readonly children: ComponentChildren;
}

/** Fields and the button that sends them, with how that went. */
export function Form({ action, disabled = false, state, onRun, children }: FormProps) {
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

interface MakeFormProps extends Omit<FieldProps, "value" | "onInput"> {
  readonly action: string;
  readonly disabled: boolean;
  readonly onMake: (value: string) => Promise<void>;
  /** A hint below the field. */
  readonly children?: ComponentChildren;
}

/** A form of one field that makes a thing; the field is empty again afterwards. */
export function MakeForm({ action, disabled, onMake, children, ...field }: MakeFormProps) {
  const [value, setValue] = useState("");
  const state = useRun();
  const make = async (): Promise<void> => {
    await onMake(value);
    setValue("");
  };
  return (
    <Form action={action} state={state} disabled={disabled} onRun={make}>
      <Field {...field} value={value} onInput={setValue} />
      {children}
    </Form>
  );
}

interface AreaProps extends Omit<FieldProps, "input"> {
  readonly rows: number;
  /** Shown with a fixed width. @default false */
  readonly isCode?: boolean;
}

/** A labelled text of several lines. */
export function Area({ label, value, rows, isCode = false, onInput }: AreaProps) {
  return (
    <label>
      {label}
      <textarea
        rows={rows}
        required
        spellcheck={!isCode}
        class={isCode ? "mono" : ""}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
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
