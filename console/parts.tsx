import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { ask } from "./api.ts";
import type { Live } from "./live.ts";

/** The properties of a page. */
export interface PageProps {
  readonly facts: SessionFacts;
  readonly live: Live;
}

/** The properties of a view of one part of the account. */
export interface ViewProps extends PageProps {
  /** The path of the part in the API. */
  readonly root: string;
}

/** A value that is loaded: not there yet, there, or failed with an error. */
export interface Loaded<T> {
  readonly value: T | null;
  readonly error: string | null;
  readonly reload: () => void;
}

/** Loads when the page opens, and again whenever one of `deps` changes; the former value stays until then. */
export function useLoaded<T>(load: () => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Pick<Loaded<T>, "value" | "error">>({
    value: null,
    error: null,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isOver = false;
    load().then(
      (value) => {
        if (!isOver) setState({ value, error: null });
      },
      (error: unknown) => {
        if (!isOver) setState((before) => ({ ...before, error: messageOf(error) }));
      },
    );
    return () => {
      isOver = true;
    };
  }, [...deps, turn]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}

/** A text that changes whenever something of these parts was changed; the lists of a page depend on it. */
export function changesOf(live: Live, ...parts: readonly string[]): string {
  return live.rows.find((row) => parts.includes(row.part) && row.method !== "GET")?.id ?? "";
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Says that something is on its way, or why it did not come. */
export function Waiting({ of }: { readonly of: Loaded<unknown> }) {
  if (of.error !== null)
    return (
      <p class="error" role="alert">
        Not loaded: {of.error}
      </p>
    );
  return of.value === null ? <p class="muted">Loading …</p> : null;
}

interface TableProps {
  /** The load of its rows: until it has come, and when it failed, that is said in place of {@link TableProps.none}. */
  readonly of?: Loaded<unknown>;
  readonly label: string;
  readonly head: readonly string[];
  readonly rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
  /** The text of an empty table. */
  readonly none: string;
}

/** A list as a table that a keyboard can scroll. */
export function Table({ of, ...props }: TableProps) {
  return (
    <>
      {of !== undefined && <Waiting of={of} />}
      {of?.value !== null && <Rows {...props} />}
    </>
  );
}

function Rows({ label, head, rows, none }: Omit<TableProps, "of">) {
  if (rows.length === 0) return <p class="muted">{none}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, at) => (
                <td key={head[at]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ActionProps {
  readonly label: string;
  /** A question to confirm before the action. */
  readonly confirm?: string;
  readonly disabled?: boolean;
  readonly onRun: () => Promise<unknown>;
}

/** A button that does one thing, and says how it went. */
export function Action({ label, confirm: question, disabled = false, onRun }: ActionProps) {
  const [state, setState] = useState<"idle" | "running" | "done">("idle");
  const [error, setError] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const run = (): void => {
    setAsking(false);
    setState("running");
    setError(null);
    onRun().then(
      () => setState("done"),
      (failure: unknown) => {
        setState("idle");
        setError(messageOf(failure));
      },
    );
  };
  if (isAsking)
    return (
      <span class="actions" role="group" aria-label={label}>
        <span class="small">{question}</span>
        <button type="button" class="danger" onClick={run}>
          Yes, {label.toLowerCase()}
        </button>
        <button type="button" onClick={() => setAsking(false)}>
          No
        </button>
      </span>
    );
  return (
    <span>
      <button
        type="button"
        disabled={disabled || state === "running"}
        onClick={() => (question === undefined ? run() : setAsking(true))}
      >
        {state === "done" ? `${label} ✓` : label}
      </button>
      {error !== null && (
        <span class="error" role="alert">
          {error}
        </span>
      )}
    </span>
  );
}

/** A secret that no later answer shows. */
export function Once({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div class="notice" role="status">
      <strong>{title}</strong>
      <p>It is shown once: keep it now.</p>
      <p class="mono secret">{text}</p>
      <Copy label="Copy" text={text} />
    </div>
  );
}

/** A button that copies a text, and says that it did. */
export function Copy({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard?.writeText(text).then(() => setCopied(true));
  };
  return (
    <button type="button" onClick={copy}>
      {isCopied ? "Copied" : label}
    </button>
  );
}

/** Facts by name; those without a value are left out. */
export function FactList({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return (
    <dl>
      {facts.map(([name, value]) =>
        value == null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** An instant of the API in the browser's time zone. */
export function instant(text: string | null | undefined): string {
  return text == null ? "–" : new Date(text).toLocaleString("en-GB");
}

/** Sends JSON and reads the `result`. */
export async function change<T>(method: string, path: string, json?: unknown): Promise<T> {
  const response = await ask(path, json === undefined ? { method } : { method, json });
  return ((await response.json()) as { result: T }).result;
}

/** A text as JSON with indents where it is JSON. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The path of the session's account. */
export function accountPath(account: string): string {
  return `/client/v4/accounts/${encodeURIComponent(account)}`;
}
