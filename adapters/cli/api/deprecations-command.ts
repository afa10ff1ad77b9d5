import process from "node:process";
import { deprecations } from "../../../core/deprecations/mod.ts";
import type { ShownUse } from "../../../core/signals/uses-routes.ts";
import { readOptions, subcommand } from "../context/command-options.ts";
import { reach, serverOf } from "../context/console-link.ts";
import { apiClient, serverHelp, serverOptions, type ServerValues } from "./api-client.ts";
import { printRows } from "./output.ts";

const help = `Usage: causey deprecations list [--find TEXT] [--phase PHASE] [--url URL]
       causey deprecations uses [options]

list: prints the deprecations of the hosted API, each with its replacement. It needs no server. With --url it asks a server,
whose configuration may set another day. uses: prints who still uses a deprecated API, as counted by a running server.

  --find TEXT        Only entries that hold this text
  --phase PHASE      Only entries in this phase, e.g. retired
${serverHelp}`;

interface Entry {
  readonly id: string;
  readonly phase: string;
  readonly eol: string | null;
  readonly methods: readonly string[];
  readonly path: string | null;
  readonly fields: readonly string[];
  readonly replacement: readonly { readonly method: string; readonly path: string }[];
  readonly rule: string | null;
}

/** Runs `causey deprecations …`. */
export async function deprecationsCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    ...serverOptions,
    find: { type: "string" },
    phase: { type: "string" },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(help);
  const [word, ...more] = positionals;
  const command = subcommand("deprecations", word, ["list", "uses"]);
  if (more.length > 0)
    throw new TypeError(`deprecations ${command} takes options only, got "${more[0]}"`);
  const isJson = values.json === true;
  if (command === "uses") {
    if (values.find !== undefined || values.phase !== undefined)
      throw new TypeError("deprecations uses has no option --find or --phase");
    return printUses(values, isJson);
  }
  const all = values.url === undefined ? await ownTable() : await tableOf(values);
  checkPhase(values.phase, all);
  const found = all.filter(
    (one) =>
      (values.phase === undefined || one.phase === values.phase) &&
      JSON.stringify(one)
        .toLowerCase()
        .includes((values.find ?? "").toLowerCase()),
  );
  printRows(found, isJson, ["ENTRY", "PHASE", "END", "WHAT", "INSTEAD"], (one) => [
    one.id,
    one.phase,
    one.eol,
    [one.methods.join(" "), one.path, one.fields.join(", ")].filter((part) => part).join(" "),
    one.replacement.map(({ method, path }) => `${method} ${path}`).join(" and ") || one.rule,
  ]);
}

function checkPhase(phase: string | undefined, all: readonly Entry[]): void {
  const known = [...new Set(all.map((one) => one.phase))];
  if (phase !== undefined && !known.includes(phase))
    throw new TypeError(`--phase: no entry is in "${phase}", only in ${known.join(", ")}`);
}

/** Returns the table of this version, at this moment. */
async function ownTable(): Promise<readonly Entry[]> {
  const app = deprecations({ clock: () => Date.now() });
  return entriesOf(await app.request("/deprecations"));
}

async function tableOf(values: Parameters<typeof serverOf>[0]): Promise<readonly Entry[]> {
  const { url } = serverOf(values);
  return entriesOf(await reach(new Request(`${url}/client/v4/deprecations`)));
}

async function entriesOf(response: Response): Promise<readonly Entry[]> {
  // `as`: the server's own table.
  const body = (await response.json().catch(() => ({}))) as { result?: readonly Entry[] };
  if (body.result === undefined) throw new Error(`The server answered ${response.status}`);
  return body.result;
}

async function printUses(values: ServerValues, isJson: boolean): Promise<void> {
  const { result } = await apiClient(values).ask<readonly ShownUse[]>("/deprecations/uses");
  const head = ["ENTRY", "TOKEN", "CLIENT", "USES", "REFUSED", "FIRST", "LAST"];
  printRows(result, isJson, head, (one) => [
    one.entry,
    one.token_name === "" ? one.token_id : one.token_name,
    `${one.client} ${one.client_version}`.trim() || "-",
    one.count,
    one.refused,
    one.first_used_on,
    one.last_used_on,
  ]);
}
