import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type FieldSpec, RecordForm, type Values } from "./form.tsx";
import { Action, type Loaded, Table } from "./parts.tsx";

interface RecordsProps<Row, Name extends string> {
  /** The heading's id. */
  readonly id: string;
  /** Whether it is a part of a record itself. @default false */
  readonly isPart?: boolean;
  readonly title: string;
  /** One of them, such as "team". */
  readonly noun: string;
  /** The text of an empty list: it says how to begin. */
  readonly none: string;
  readonly of: Loaded<readonly Row[]>;
  readonly head: readonly string[];
  readonly cellsOf: (row: Row) => readonly ComponentChildren[];
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
  /** The fields of a new one, or of one that is changed. */
  readonly fieldsOf: (row: Row | null) => Readonly<Record<Name, FieldSpec>>;
  /** The values with which a change begins; left out where nothing can be changed. */
  readonly valuesOf?: (row: Row) => Partial<Values<Name>>;
  /** The values with which a new one begins. */
  readonly initial?: Partial<Values<Name>>;
  /** Saves a new one (null) or a change. */
  readonly onSave: (values: Values<Name>, row: Row | null) => Promise<unknown>;
  readonly onDelete: (row: Row) => Promise<unknown>;
  /** The sentence that tells the consequences of deleting one. */
  readonly loss: string;
  /** Whether one is of the configuration, which alone changes it. */
  readonly isDeclared?: (row: Row) => boolean;
  /** Further actions on one. */
  readonly actionsOf?: (row: Row) => ComponentChildren;
  readonly disabled: boolean;
}

/** A list of records that are made, changed and deleted on the spot. */
export function Records<Row, Name extends string>(props: RecordsProps<Row, Name>) {
  const { id, title, noun, of, head, disabled, fieldsOf, valuesOf, initial, onSave } = props;
  const Heading = props.isPart === true ? "h3" : "h2";
  const [open, setOpen] = useState<Row | null>(null);
  const save = async (values: Values<Name>): Promise<void> => {
    await onSave(values, open);
    setOpen(null);
    of.reload();
  };
  const change = (row: Row) => (
    <Changes
      {...props}
      row={row}
      onEdit={() => setOpen(row)}
      onDelete={async () => {
        await props.onDelete(row);
        setOpen(null);
        of.reload();
      }}
    />
  );
  return (
    <section class="stack" aria-labelledby={id}>
      <Heading id={id}>{title}</Heading>
      <Table
        of={of}
        label={title}
        head={[...head, "Change"]}
        none={props.none}
        rows={(of.value ?? []).map((row) => ({
          key: props.keyOf(row),
          cells: [...props.cellsOf(row), change(row)],
        }))}
      />
      <div class="card" role="group" aria-label={open === null ? `New ${noun}` : `Change ${noun}`}>
        <RecordForm
          key={open === null ? "" : props.keyOf(open)}
          action={open === null ? `Create ${noun}` : `Save ${props.nameOf(open)}`}
          fields={fieldsOf(open)}
          initial={(open === null ? initial : valuesOf?.(open)) ?? {}}
          disabled={disabled}
          onSave={save}
        />
        {open !== null && (
          <button type="button" onClick={() => setOpen(null)}>
            Cancel
          </button>
        )}
      </div>
    </section>
  );
}

interface ChangesProps<Row> extends Pick<
  RecordsProps<Row, string>,
  "isDeclared" | "actionsOf" | "loss" | "disabled" | "nameOf"
> {
  readonly row: Row;
  /** Null where nothing can be changed. */
  readonly valuesOf?: unknown;
  readonly onEdit: () => void;
  readonly onDelete: () => Promise<void>;
}

function Changes<Row>({ row, valuesOf, isDeclared, actionsOf, ...props }: ChangesProps<Row>) {
  if (isDeclared?.(row) === true) return <span class="muted small">in the file</span>;
  const { disabled, loss, nameOf, onEdit, onDelete } = props;
  return (
    <span class="actions">
      {actionsOf?.(row)}
      {valuesOf !== undefined && (
        <button
          type="button"
          disabled={disabled}
          aria-label={`Edit ${nameOf(row)}`}
          onClick={onEdit}
        >
          Edit
        </button>
      )}
      <Action label="Delete" confirm={loss} disabled={disabled} onRun={onDelete} />
    </span>
  );
}
