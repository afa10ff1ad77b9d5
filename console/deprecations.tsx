import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { ListedEntry } from "../core/deprecations/mod.ts";
import type { ShownUse } from "../core/signals/uses-routes.ts";
import { askResult } from "./api.ts";
import { count } from "./format.ts";
import { type Loaded, type PageProps, Table, useLoaded } from "./parts.tsx";

/** The page of deprecated entries and their users. */
export function DeprecationsPage({ live, facts }: PageProps) {
  const table = useLoaded(() => askResult<readonly ListedEntry[]>("/client/v4/deprecations"), []);
  return (
    <>
      <Uses live={live} facts={facts} entries={table.value ?? []} />
      <h2>All entries</h2>
      <Entries table={table} />
    </>
  );
}

interface UsesProps extends PageProps {
  readonly entries: readonly ListedEntry[];
}

function Uses({ live, facts, entries }: UsesProps) {
  const newest = live.rows.find(({ deprecation }) => deprecation !== undefined)?.id ?? "";
  const isHidden = live.overview?.hidden["platform"] !== undefined;
  const path = `/client/v4/accounts/${facts.account}/deprecations/uses`;
  const uses = useLoaded(
    async () => (isHidden ? [] : askResult<readonly ShownUse[]>(path)),
    [newest, isHidden],
  );
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  return (
    <>
      <h2>Who still uses what</h2>
      <Table
        of={uses}
        label="Uses of what is deprecated"
        head={[
          "Entry",
          "Request",
          "Token",
          "Client",
          "Uses",
          "Refused",
          "First",
          "Last",
          "Instead",
        ]}
        none={
          isHidden
            ? `Not shown: this token lacks the permission Account Read on account ${facts.account}.`
            : "No caller has used a deprecated API since this database was made."
        }
        rows={(uses.value ?? []).map((use) => {
          const entry = byId.get(use.entry);
          return {
            key: `${use.entry} ${use.token_id} ${use.client} ${use.client_version}`,
            cells: [
              <span class="entry">{use.entry}</span>,
              <PathText isTight text={`${entry?.methods.join(" ") ?? ""} ${entry?.path ?? ""}`} />,
              <span class="wrap tight" title={use.token_id}>
                {use.token_name === "" ? use.token_id.slice(0, 8) : use.token_name}
              </span>,
              <span class="wrap tight">{`${use.client} ${use.client_version}`.trim() || "–"}</span>,
              count(use.count),
              count(use.refused),
              day(use.first_used_on),
              day(use.last_used_on),
              entry === undefined ? "–" : <PathText isTight text={replacementOf(entry)} />,
            ],
          };
        })}
      />
    </>
  );
}

function Entries({ table }: { readonly table: Loaded<readonly ListedEntry[]> }) {
  const [text, setText] = useState("");
  const found = (table.value ?? []).filter((entry) =>
    `${entry.id} ${what(entry)} ${replacementOf(entry)}`
      .toLowerCase()
      .includes(text.trim().toLowerCase()),
  );
  return (
    <>
      <label class="narrow">
        Find
        <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <Table
        of={table}
        label="All entries"
        head={["Entry", "What", "Phase", "End", "Instead"]}
        none="No entry fits."
        rows={found.map((entry) => ({
          key: entry.id,
          cells: [
            <span class="entry">{entry.id}</span>,
            <PathText text={what(entry)} />,
            <span class={`state ${entry.phase === "retired" ? "unavailable" : "failing"}`}>
              {entry.phase}
            </span>,
            <span class="nowrap">{entry.eol ?? entry.date ?? "–"}</span>,
            <PathText text={replacementOf(entry)} />,
          ],
        }))}
      />
    </>
  );
}

/** A day, with its time for those who point at it. */
function day(time: string) {
  const at = new Date(time);
  return <span title={at.toLocaleString("en-GB")}>{at.toLocaleDateString("en-GB")}</span>;
}

/** A text with paths, which break behind a slash and not within a word. */
function PathText({
  text,
  isTight = false,
}: {
  readonly text: string;
  /** Whether the table has many columns beside it. */
  readonly isTight?: boolean;
}) {
  const parts = text.split(/(?<=\/)/);
  return (
    <span class={isTight ? "wrap tight" : "wrap"}>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </span>
  );
}

function what({ methods, path, fields }: ListedEntry): string {
  return [methods.join(" "), path, fields.join(", ")].filter((word) => word).join(" ");
}

function replacementOf({ replacement, rule }: ListedEntry): string {
  if (replacement.length === 0) return rule ?? "nothing";
  return replacement.map(({ method, path }) => `${method} ${path}`).join(" and ");
}
