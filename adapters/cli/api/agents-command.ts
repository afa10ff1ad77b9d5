import process from "node:process";
import { readOptions, subcommand } from "../context/command-options.ts";
import { apiClient, type ApiClient, limitOf, serverHelp, serverOptions } from "./api-client.ts";
import { printFacts, printRows } from "./output.ts";

const help = `Usage: causey agents list [--agent CLASS] [--source NAME] [--limit N]
       causey agents show ENTITY [--agent CLASS] [--source NAME]
       causey agents events ENTITY [--type TYPE] [--limit N]
       causey agents failures [ENTITY] [--limit N]
       causey agents dead [ENTITY] [--limit N]
       causey agents replay ENTITY ID

Shows the agents that webhooks feed, one for each entity. list: prints them, newest first. show: prints the state, the
schedules and the queue of an agent. events: prints its events. failures: prints failed jobs that run again. dead: prints
jobs that the server gave up. replay: hands an event, or a job that was given up, to the agent once more.

  --agent CLASS      The class of the agent [the source's class, else webhook-agent]
  --source NAME      The webhook source
  --type TYPE        Events of this type only
  --limit N          Rows to print, 1 to 1000 [20]
${serverHelp}`;

const words = ["list", "show", "events", "failures", "dead", "replay"] as const;
const HOOKS = "/webhooks";

type Facts = Readonly<Record<string, unknown>>;

/** Runs `causey agents …`. */
export async function agentsCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    ...serverOptions,
    agent: { type: "string" },
    source: { type: "string" },
    type: { type: "string" },
    limit: { type: "string" },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(help);
  const [word, entity, id, ...more] = positionals;
  const command = subcommand("agents", word, words);
  checkArguments(command, { entity, id, more, type: values.type });
  const { agent, source, type } = values;
  const query = { entity, agent, source, type };
  const limit = limitOf(values.limit);
  const api = apiClient(values);
  const isJson = values.json === true;
  if (command === "show") {
    const { result } = await api.ask<Facts>(`${HOOKS}/entities/state?${search(query)}`);
    return printFacts(result, isJson);
  }
  if (command === "replay") return printFacts(await replay(api, id ?? "", query), isJson);
  const list = { list: "entities", events: "events", failures: "failures", dead: "dead-letters" };
  const rows = await someOf(api, `${HOOKS}/${list[command]}`, query, limit);
  const columns = {
    list: ["agent", "entity", "source", "last_seen"],
    events: ["seq", "timestamp", "source", "type", "title", "id"],
    failures: ["entity", "task", "attempts", "next_at", "error", "id"],
    dead: ["entity", "task", "attempts", "failed_at", "error", "id"],
  }[command];
  const head = columns.map((one) => one.toUpperCase().replaceAll("_", " "));
  // Rows of one entity do not repeat it.
  printRows(rows, isJson, head, (row) => columns.map((name) => cell({ entity, ...row }[name])));
}

interface Arguments {
  readonly entity: string | undefined;
  readonly id: string | undefined;
  readonly more: readonly string[];
  readonly type: string | undefined;
}

function checkArguments(
  command: (typeof words)[number],
  { entity, id, more, type }: Arguments,
): void {
  const needsEntity = ["show", "events", "replay"].includes(command);
  if (needsEntity && entity === undefined)
    throw new TypeError(`agents ${command} needs the name of an entity`);
  if (command === "list" && entity !== undefined)
    throw new TypeError(`agents list takes options only, got "${entity}"`);
  if ((command === "replay") !== (id !== undefined) || more.length > 0)
    throw new TypeError(
      command === "replay"
        ? "agents replay needs an entity and one id"
        : `agents ${command} takes no "${id}"`,
    );
  if (type !== undefined && command !== "events")
    throw new TypeError(`agents ${command} has no option --type`);
}

type Query = Readonly<Record<string, string | number | undefined>>;

function search(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(given).toString();
}

/** Reads the rows of a list, page by page: a list of one entity comes at once. */
async function someOf(api: ApiClient, path: string, query: Query, limit: number): Promise<Facts[]> {
  const rows: Facts[] = [];
  const most = query["entity"] === undefined ? 100 : 1000;
  let cursor: string | undefined;
  do {
    const asked = { ...query, limit: Math.min(limit - rows.length, most), cursor };
    const { result, resultInfo } = await api.ask<Facts[]>(`${path}?${search(asked)}`);
    rows.push(...result);
    cursor = typeof resultInfo["cursor"] === "string" ? resultInfo["cursor"] : undefined;
  } while (cursor !== undefined && rows.length < limit);
  return rows;
}

/** An id is that of a job that was given up, or of an event. */
async function replay(api: ApiClient, id: string, query: Query): Promise<object> {
  const dead = await someOf(api, `${HOOKS}/dead-letters`, query, 1000);
  const list = dead.some((one) => one["id"] === id) ? "dead-letters" : "events";
  const path = `${HOOKS}/${list}/${encodeURIComponent(id)}/replay?${search(query)}`;
  return (await api.ask<object>(path, { method: "POST" })).result;
}

function cell(value: unknown): string | number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number") return value;
  return typeof value === "string" ? value.slice(0, 80) : JSON.stringify(value).slice(0, 80);
}
