import process from "node:process";
import { importHelp } from "../api/import-command.ts";
import { commandFailure, readOptions } from "../context/command-options.ts";
import { knownSchemas } from "./known-schemas.ts";
import { withDatabase } from "./database-tables.ts";
import { withFolder } from "./folder-tables.ts";
import { moveTables, type MoveReport } from "./move-tables.ts";

/** Moves the state of a data folder into a database, or back, in one transaction. */
export async function moveCommand(args: readonly string[]): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals } = readOptions(args, {
    from: text,
    to: text,
    database: text,
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) return void process.stdout.write(importHelp);
  if (positionals.length > 0) throw new TypeError("causey import takes a file, or --from or --to");
  const { from, to, database = process.env["CAUSEY_DATABASE_URL"], json = false } = values;
  if (database === undefined || database === "")
    throw commandFailure(
      `causey import ${from === undefined ? "--to" : "--from"} needs a database`,
      "Add --database postgres://user:password@host/name, or set CAUSEY_DATABASE_URL",
    );
  if (from !== undefined && to !== undefined)
    throw new TypeError(
      "causey import takes --from or --to, and not both: the database is the other end",
    );
  const known = await knownSchemas();
  const report =
    from === undefined
      ? await withDatabase(database, "source", (source) =>
          withFolder(to ?? "", "target", (target) => moveTables(source, target, known)),
        )
      : await withFolder(from, "source", (source) =>
          withDatabase(database, "target", (target) => moveTables(source, target, known)),
        );
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : linesOf(report, to));
}

function linesOf(report: MoveReport, to: string | undefined): string {
  const { keywordIndexes, leftOut, rows, tables } = report;
  const lines = [
    `Imported ${rows} rows of ${tables} tables; every table was counted at both ends`,
    ...leftOut.map(
      (one) =>
        `Left out: ${one.rows} rows of ${one.table}, a table of actors that the command does not have`,
    ),
    ...(keywordIndexes === 0
      ? []
      : [
          `Made again: ${keywordIndexes} keyword ${keywordIndexes === 1 ? "index" : "indexes"} of search`,
        ]),
    "Not in the database: the files token and demo-webhook-secret of the folder, and the configuration",
    to === undefined
      ? "Next: start the server with --database, this folder as --data-dir, and the same CAUSEY_MASTER_KEY if one is set"
      : `Next: start the server with --data-dir ${to}, and the same CAUSEY_MASTER_KEY if one is set`,
  ];
  return `${lines.join("\n")}\n`;
}
