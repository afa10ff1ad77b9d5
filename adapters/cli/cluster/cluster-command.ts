import process from "node:process";
import { openPostgres } from "../../postgres/open-postgres.ts";
import { clusterStatus } from "../../postgres/slots/cluster-status.ts";
import { printable, printRows } from "../api/output.ts";
import type { ActorNode } from "../../../core/ports.ts";
import { commandFailure, readOptions, subcommand } from "../context/command-options.ts";

const help = `Usage: causey cluster status [--database URL] [--json]

Lists the servers of a PostgreSQL database: how many of the 1,024 slots of objects each has, and when it last renewed its
lease. A server that was killed is listed as gone. LAG says for how long its oldest unfinished work has been due. PROTOCOL
is what servers say to each other. SCHEMA names the tables of which a server knows fewer steps than the database has, CLOCK
says by how much its clock is ahead of the database's. Below stands why a server is refused.

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
    printRows(nodes, values.json === true, HEAD, rowOf);
    if (values.json === true) return;
    for (const { address, refusal } of nodes)
      if (refusal !== null)
        process.stdout.write(printable(`${address} is refused: ${refusal}`) + "\n");
  } finally {
    await db.close();
  }
}

const HEAD = [
  "ADDRESS",
  "MACHINE",
  "VERSION",
  "PROTOCOL",
  "SCHEMA",
  "CLOCK",
  "SLOTS",
  "RENEWED",
  "STATE",
  "LAG",
];

function rowOf(node: ActorNode): (string | number)[] {
  return [
    node.address,
    node.machine,
    node.version,
    node.protocol ?? "?",
    schemaOf(node),
    node.clockAheadMs === null ? "?" : signed(node.clockAheadMs),
    node.slots,
    `${seconds(node.renewedMsAgo)} ago`,
    stateOf(node),
    seconds(node.lagMs),
  ];
}

/** The lists of which the node knows fewer steps, as `agents 5/6`. */
function schemaOf({ schema }: ActorNode): string {
  if (schema.length === 0) return "?";
  const behind = schema.filter(({ database, knows }) => knows < database);
  return behind.map((one) => `${one.list} ${one.knows}/${one.database}`).join(", ") || "all";
}

function stateOf({ lives, refusal }: ActorNode): string {
  if (refusal !== null) return "refused";
  return lives ? "lives" : "gone";
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function signed(ms: number): string {
  return `${ms < 0 ? "" : "+"}${seconds(ms)}`;
}
