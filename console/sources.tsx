import { useState } from "preact/hooks";
import type { SourceView } from "../core/webhooks/sources/source-routes.ts";
import { askResult } from "./api.ts";
import { Field, type FieldSpec, Form, jsonObject, useRun } from "./form.tsx";
import { change, changesOf, useLoaded, type ViewProps } from "./parts.tsx";
import { Records } from "./records.tsx";

const SETTINGS = "Settings (its secrets stay)";

/** The sources: those of the configuration, and those that are made, changed, rotated and deleted here. */
export function Sources({ root: account, facts: { readOnly }, live }: ViewProps) {
  const root = `${account}/sources`;
  const sources = useLoaded(
    () => askResult<readonly SourceView[]>(root),
    [changesOf(live, "webhooks")],
  );
  const [rotated, setRotated] = useState<string | null>(null);
  return (
    <>
      {rotated !== null && (
        <RotateSource key={rotated} root={root} name={rotated} onDone={() => setRotated(null)} />
      )}
      <Records
        id="sources-title"
        title="Sources"
        noun="source"
        none="No source yet: nobody can send events."
        of={sources}
        head={["Name", "Address", "Scheme", "Agent", "Forwards", "State"]}
        keyOf={({ name }) => name}
        nameOf={({ name }) => name}
        cellsOf={(one) => [
          one.name,
          <span class="mono">/webhooks/{one.name}</span>,
          one.scheme ?? "its own",
          one.agent ?? "–",
          one.forward ? "yes" : "no",
          one.error === null ? "on" : <strong class="warn-text">{one.error}</strong>,
        ]}
        fieldsOf={fieldsOf}
        valuesOf={(one) => ({ settings: JSON.stringify(one.settings, null, 2) })}
        initial={{ scheme: "generic" }}
        onSave={({ settings = "", agent, ...given }, row) =>
          row === null
            ? change("POST", root, { ...given, ...(agent === "" ? {} : { agent }) })
            : change("PUT", `${root}/${row.name}`, jsonObject(SETTINGS, settings))
        }
        onDelete={({ name }) => change("DELETE", `${root}/${name}`)}
        loss="Its sender is refused at once."
        isDeclared={({ declared }) => declared}
        actionsOf={({ name }) => (
          <button type="button" disabled={readOnly} onClick={() => setRotated(name)}>
            Rotate
          </button>
        )}
        disabled={readOnly}
      />
    </>
  );
}

/** The fields of a new source; one that exists is changed as a whole. */
function fieldsOf(row: SourceView | null): Readonly<Record<string, FieldSpec>> {
  if (row !== null) return { settings: { label: SETTINGS, kind: "code" } };
  return {
    name: {
      label: "Name of the new source",
      input: { pattern: String.raw`[A-Za-z0-9_\-]{1,64}` },
    },
    scheme: { label: "Scheme of its signatures" },
    secret: {
      label: "Secret of the sender",
      input: { type: "password", autoComplete: "off" },
    },
    agent: { label: "Agent class (empty = webhook-agent)", input: { required: false } },
  };
}

interface RotateProps {
  readonly root: string;
  readonly name: string;
  readonly onDone: () => void;
}

function RotateSource({ root, name, onDone }: RotateProps) {
  const [secret, setSecret] = useState("");
  const state = useRun();
  const rotate = async (): Promise<void> => {
    await change("POST", `${root}/${name}/rotate`, { secret });
    onDone();
  };
  return (
    <div class="card">
      <Form action="Rotate secret" state={state} onRun={rotate}>
        <Field
          label={`New secret of ${name} (the old one works for a day)`}
          value={secret}
          input={{ type: "password", autoComplete: "off" }}
          onInput={setSecret}
        />
      </Form>
    </div>
  );
}
