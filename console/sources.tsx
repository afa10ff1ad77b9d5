import { useState } from "preact/hooks";
import type { SourceView } from "../core/webhooks/sources/source-routes.ts";
import { askResult } from "./api.ts";
import { Area, Field, Form, useRun } from "./form.tsx";
import {
  Action,
  change,
  changesOf,
  type Loaded,
  Table,
  useLoaded,
  type ViewProps,
} from "./parts.tsx";

/** The sources: those of the configuration, and those that are made, changed, rotated and deleted here. */
export function Sources({ root, facts: { readOnly }, live }: ViewProps) {
  const sources = useLoaded(
    () => askResult<readonly SourceView[]>(`${root}/sources`),
    [changesOf(live, "webhooks")],
  );
  const [edited, setEdited] = useState<SourceView | null>(null);
  const [rotated, setRotated] = useState<string | null>(null);
  const done = (): void => {
    setEdited(null);
    setRotated(null);
    sources.reload();
  };
  return (
    <section class="stack" aria-labelledby="sources-title">
      <h2 id="sources-title">Sources</h2>
      <SourceTable
        root={root}
        sources={sources}
        readOnly={readOnly}
        onEdit={setEdited}
        onRotate={setRotated}
        onDelete={done}
      />
      {edited !== null && (
        <EditSource key={edited.name} root={root} source={edited} onDone={done} />
      )}
      {rotated !== null && <RotateSource key={rotated} root={root} name={rotated} onDone={done} />}
      <NewSource root={root} readOnly={readOnly} onMade={done} />
    </section>
  );
}

interface SourceTableProps {
  readonly root: string;
  readonly sources: Loaded<readonly SourceView[]>;
  readonly readOnly: boolean;
  readonly onEdit: (source: SourceView) => void;
  readonly onRotate: (name: string) => void;
  readonly onDelete: () => void;
}

function SourceTable({ sources, ...props }: SourceTableProps) {
  return (
    <Table
      of={sources}
      label="Sources"
      head={["Name", "Address", "Scheme", "Agent", "Forwards", "State", "Change"]}
      none="No source yet: nobody can send events."
      rows={(sources.value ?? []).map((one) => ({
        key: one.name,
        cells: [
          one.name,
          <span class="mono">/webhooks/{one.name}</span>,
          one.scheme ?? "its own",
          one.agent ?? "–",
          one.forward ? "yes" : "no",
          one.error === null ? "on" : <strong class="warn-text">{one.error}</strong>,
          <Changes source={one} {...props} />,
        ],
      }))}
    />
  );
}

type ChangesProps = Omit<SourceTableProps, "sources"> & { readonly source: SourceView };

function Changes({ source, root, readOnly, onEdit, onRotate, onDelete }: ChangesProps) {
  if (source.declared) return <span class="muted small">in the file</span>;
  return (
    <span class="actions">
      <button type="button" disabled={readOnly} onClick={() => onEdit(source)}>
        Edit
      </button>
      <button type="button" disabled={readOnly} onClick={() => onRotate(source.name)}>
        Rotate
      </button>
      <Action
        label="Delete"
        confirm="Its sender is refused at once."
        disabled={readOnly}
        onRun={async () => {
          await change("DELETE", `${root}/sources/${source.name}`);
          onDelete();
        }}
      />
    </span>
  );
}

interface ChangeProps {
  readonly root: string;
  readonly onDone: () => void;
}

function EditSource({ root, source, onDone }: ChangeProps & { readonly source: SourceView }) {
  const [text, setText] = useState(JSON.stringify(source.settings, null, 2));
  const state = useRun();
  const save = async (): Promise<void> => {
    await change("PUT", `${root}/sources/${source.name}`, JSON.parse(text) as object);
    onDone();
  };
  return (
    <div class="card">
      <Form action="Save source" state={state} onRun={save}>
        <Area
          label={`Settings of ${source.name} (its secrets stay)`}
          value={text}
          rows={8}
          isCode
          onInput={setText}
        />
      </Form>
    </div>
  );
}

function RotateSource({ root, name, onDone }: ChangeProps & { readonly name: string }) {
  const [secret, setSecret] = useState("");
  const state = useRun();
  const rotate = async (): Promise<void> => {
    await change("POST", `${root}/sources/${name}/rotate`, { secret });
    onDone();
  };
  return (
    <div class="card">
      <Form action="Rotate secret" state={state} onRun={rotate}>
        <Field
          label={`New secret of ${name} (the old one is taken for a day)`}
          value={secret}
          input={{ type: "password", autoComplete: "off" }}
          onInput={setSecret}
        />
      </Form>
    </div>
  );
}

interface NewSourceProps {
  readonly root: string;
  readonly readOnly: boolean;
  readonly onMade: () => void;
}

function NewSource({ root, readOnly, onMade }: NewSourceProps) {
  const empty = { name: "", scheme: "generic", secret: "", agent: "" };
  const [form, setForm] = useState(empty);
  const state = useRun();
  const make = async (): Promise<void> => {
    const { agent, ...rest } = form;
    await change("POST", `${root}/sources`, { ...rest, ...(agent === "" ? {} : { agent }) });
    setForm(empty);
    onMade();
  };
  return (
    <div class="card">
      <Form action="Add source" state={state} disabled={readOnly} onRun={make}>
        <Field
          label="Name of the new source"
          value={form.name}
          input={{ pattern: String.raw`[A-Za-z0-9_\-]{1,64}` }}
          onInput={(name) => setForm({ ...form, name })}
        />
        <Field
          label="Scheme of its signatures"
          value={form.scheme}
          onInput={(scheme) => setForm({ ...form, scheme })}
        />
        <Field
          label="Secret of the sender"
          value={form.secret}
          input={{ type: "password", autoComplete: "off" }}
          onInput={(secret) => setForm({ ...form, secret })}
        />
        <Field
          label="Agent class (empty = webhook-agent)"
          value={form.agent}
          input={{ required: false }}
          onInput={(agent) => setForm({ ...form, agent })}
        />
      </Form>
    </div>
  );
}
