import process from "node:process";
import { readOptions, subcommand } from "../context/command-options.ts";
import {
  apiClient,
  type ApiClient,
  limitOf,
  printNotes,
  serverHelp,
  serverOptions,
  settingsOf,
} from "./api-client.ts";
import { printFacts, printRows } from "./output.ts";

const help = `Usage: causey gateway list
       causey gateway show ID
       causey gateway create ID [--set NAME=VALUE …]
       causey gateway set ID --set NAME=VALUE …
       causey gateway delete ID
       causey gateway logs ID [--limit N]

Works with the AI gateways of a running server. logs: prints the last requests of a gateway, newest first.

  --set NAME=VALUE   A setting by its name in the API; the value is JSON, else text: --set cache_ttl=300
                     --set authentication=false; may be given several times
  --limit N          Requests that logs prints, 1 to 1000 [20]
${serverHelp}`;

/** Settings that the API wants of every new gateway: no cache, no limit, logs on. */
const plain = {
  cache_invalidate_on_update: false,
  cache_ttl: 0,
  collect_logs: true,
  rate_limiting_interval: null,
  rate_limiting_limit: null,
};
const GATEWAYS = "/ai-gateway/gateways";
const words = ["list", "show", "create", "set", "delete", "logs"] as const;

interface Gateway {
  readonly id: string;
  readonly authentication: boolean;
  readonly collect_logs: boolean;
  readonly cache_ttl: number | null;
  readonly rate_limiting_limit: number | null;
  readonly rate_limiting_interval: number | null;
  readonly modified_at: string;
}

interface LogRow {
  readonly id: string;
  readonly created_at: string;
  readonly provider: string;
  readonly model: string;
  readonly status_code?: number;
  readonly success: boolean;
  readonly cached: boolean;
  readonly duration: number;
  readonly tokens_in?: number | null;
  readonly tokens_out?: number | null;
  readonly cost?: number | null;
}

/** Runs `causey gateway …`. */
export async function gatewayCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    ...serverOptions,
    set: { type: "string", multiple: true },
    limit: { type: "string" },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(help);
  const [word, id = "", ...more] = positionals;
  const command = subcommand("gateway", word, words);
  const takesId = command !== "list";
  if (takesId !== (id !== "") || more.length > 0)
    throw new TypeError(`gateway ${command} needs ${takesId ? "the id of one gateway" : "no id"}`);
  const isWrite = command === "create" || command === "set";
  if (values.set !== undefined && !isWrite)
    throw new TypeError(`gateway ${command} has no option --set`);
  if (command === "set" && values.set === undefined)
    throw new TypeError("gateway set needs --set NAME=VALUE");
  const limit = limitOf(values.limit);
  const settings = settingsOf(values.set ?? []);
  const api = apiClient(values);
  const isJson = values.json === true;
  if (command === "list") return printGateways(await api.all<Gateway>(GATEWAYS), isJson);
  if (command === "logs") return printLogs(api, id, limit, isJson);
  const { result, notes } = await run(api, command, id, settings);
  printNotes(notes);
  printFacts(result, isJson);
}

function run(
  api: ApiClient,
  command: "show" | "create" | "set" | "delete",
  id: string,
  settings: Readonly<Record<string, unknown>>,
): ReturnType<typeof api.ask<Gateway>> {
  const path = `${GATEWAYS}/${encodeURIComponent(id)}`;
  if (command === "show") return api.ask<Gateway>(path);
  if (command === "delete") return api.ask<Gateway>(path, { method: "DELETE" });
  if (command === "create")
    return api.ask<Gateway>(GATEWAYS, { method: "POST", json: { ...plain, ...settings, id } });
  return api.ask<Gateway>(path).then(({ result }) => {
    return api.ask<Gateway>(path, { method: "PUT", json: { ...result, ...settings } });
  });
}

function printGateways(gateways: readonly Gateway[], isJson: boolean): void {
  const head = ["ID", "AUTHENTICATION", "LOGS", "CACHE", "RATE LIMIT", "CHANGED"];
  printRows(gateways, isJson, head, (one) => [
    one.id,
    one.authentication ? "on" : "off",
    one.collect_logs ? "on" : "off",
    (one.cache_ttl ?? 0) > 0 ? `${one.cache_ttl} s` : "off",
    (one.rate_limiting_limit ?? 0) > 0
      ? `${one.rate_limiting_limit} in ${one.rate_limiting_interval} s`
      : "none",
    one.modified_at,
  ]);
}

async function printLogs(
  api: ApiClient,
  id: string,
  limit: number,
  isJson: boolean,
): Promise<void> {
  const rows = await api.all<LogRow>(`${GATEWAYS}/${encodeURIComponent(id)}/logs`, limit);
  const head = ["TIME", "STATUS", "MS", "PROVIDER", "MODEL", "IN", "OUT", "COST", "CACHED", "ID"];
  printRows(rows, isJson, head, (row) => [
    row.created_at,
    row.status_code ?? (row.success ? "ok" : "failed"),
    row.duration,
    row.provider,
    row.model,
    row.tokens_in,
    row.tokens_out,
    row.cost == null ? null : `$${row.cost.toFixed(6)}`,
    row.cached ? "yes" : "no",
    row.id,
  ]);
}
