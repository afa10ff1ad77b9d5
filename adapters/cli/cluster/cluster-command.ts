import process from "node:process";
import { openPostgres } from "../../postgres/open-postgres.ts";
import { clusterStatus } from "../../postgres/slots/cluster-status.ts";
import { printRows } from "../api/output.ts";
import { commandFailure, readOptions, subcommand } from "../context/command-options.ts";

const help = `Usage: causey cluster status [--database URL] [--json]

Lists the servers of a PostgreSQL database: how many of the 1,024 slots of objects each has, and when it last renewed its
lease. A server that was killed is listed as gone. LAG says for how long its oldest unfinished work has been due.

  --database URL     postgres://user:password@host/name [CAUSEY_DATABASE_URL]
  --json             One object a line
`;

/** Runs `causey cluster …`. */
export async function clusterCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    database: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(help);
  const [word, ...more] = positionals;
  subcommand("cluster", word, ["status"]);
  if (more.length > 0) throw new TypeError(`cluster status takes options only, got "${more[0]}"`);
  const { database: url = process.env["CAUSEY_DATABASE_URL"] ?? "" } = values;
  if (url === "")
    throw commandFailure(
      "causey cluster status needs a database",
      "Add --database postgres://user:password@host/name, or set CAUSEY_DATABASE_URL",
    );
  const db = await openPostgres({ url, log: () => undefined });
  try {
    const nodes = await clusterStatus(db.sqlOf(""));
    const head = ["ADDRESS", "MACHINE", "VERSION", "SLOTS", "RENEWED", "STATE", "LAG"];
    printRows(nodes, values.json === true, head, (one) => [
      one.address,
      one.machine,
      one.version,
      one.slots,
      `${(one.renewedMsAgo / 1000).toFixed(1)} s ago`,
      one.lives ? "lives" : "gone",
      `${(one.lagMs / 1000).toFixed(1)} s`,
    ]);
  } finally {
    await db.close();
  }
}
