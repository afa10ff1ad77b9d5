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
import { printable, printFacts, printRows } from "./output.ts";
import { lackOf, type SentItem } from "./send-file.ts";
import { uploadFiles, waitForIndex } from "./upload-files.ts";

const help = `Usage: causey search list
       causey search show NAME
       causey search create NAME [--set NAME=VALUE …]
       causey search set NAME --set NAME=VALUE …
       causey search delete NAME
       causey search items NAME [--limit N]
       causey search upload NAME FILE|FOLDER … [--wait]
       causey search sync NAME FOLDER [--delete] [--prefix TEXT] [--watch | --wait]
       causey search query NAME TEXT [--limit N]

Works with the search instances of a running server. upload: sends files and folders; the name of a file in a folder is
its path, and names that begin with a dot are left out. sync: uploads the new and changed files of a folder, and leaves
out what its .gitignore and .causeyignore files name. query: prints the chunks that match, best first.

  --set NAME=VALUE   A setting by its name in the API; the value is JSON, else text: --set chunk_size=512
                     may be given several times
  --namespace NAME   The namespace of the instance [default]
  --wait             Also waits until everything uploaded is indexed
  --delete           Also deletes the items whose files are not in the synced folder
  --prefix TEXT      Text before the paths in the keys of synced files; items with other keys stay
  --watch            Keeps syncing until Ctrl-C
  --limit N          Rows to print, 1 to 1000 for items, 1 to 50 for query [20]
${serverHelp}`;

const words = [
  "list",
  "show",
  "create",
  "set",
  "delete",
  "items",
  "upload",
  "sync",
  "query",
] as const;

/** The arguments that follow the instance's name, for commands that need some. */
const rests: Readonly<Partial<Record<string, string>>> = {
  upload: "files or folders",
  sync: "a folder",
  query: "a text",
};

interface Instance {
  readonly id: string;
  readonly status: string;
  readonly embedding_model: string | null;
  readonly ai_search_model: string | null;
  readonly chunk_size: number;
  readonly created_at: string;
}

interface Item extends SentItem {
  readonly key: string;
  readonly status: string;
  readonly chunks_count: number | null;
  readonly file_size: number | null;
}

interface Chunk {
  readonly score: number;
  readonly text: string;
  readonly item: { readonly key: string };
}

/** Runs `causey search …`. */
export async function searchCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    ...serverOptions,
    set: { type: "string", multiple: true },
    namespace: { type: "string" },
    wait: { type: "boolean" },
    delete: { type: "boolean" },
    prefix: { type: "string" },
    watch: { type: "boolean" },
    limit: { type: "string" },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(help);
  const [word, name = "", ...rest] = positionals;
  const command = subcommand("search", word, words);
  checkArguments(command, name, rest, values);
  const limit = limitOf(values.limit);
  const settings = settingsOf(values.set ?? []);
  const api = apiClient(values);
  const isJson = values.json === true;
  const root = `/ai-search/namespaces/${encodeURIComponent(values.namespace ?? "default")}/instances`;
  const path = `${root}/${encodeURIComponent(name)}`;
  if (command === "list") return printInstances(await api.all<Instance>(root), isJson);
  if (command === "items") return printItems(api, path, limit, isJson);
  if (command === "query") return printChunks(api, path, { query: rest.join(" "), limit, isJson });
  if (command === "upload" || command === "sync") {
    // A misspelt name fails here, before the first file is read.
    await api.ask(path);
    await (command === "upload"
      ? uploadFiles(api, path, rest, isJson)
      : syncFiles(api, path, rest, values));
    if (values.wait === true) await waitForIndex(api, path);
    return;
  }
  const { result, notes } = await changeOrShow(api, command, { root, path, name, settings });
  printNotes(notes);
  printFacts(result, isJson);
}

/** Options that only some of the commands have. */
interface GivenOptions {
  readonly set?: string[];
  readonly wait?: boolean;
  readonly delete?: boolean;
  readonly prefix?: string;
  readonly watch?: boolean;
}

async function syncFiles(
  api: ApiClient,
  path: string,
  [folder = ""]: readonly string[],
  values: GivenOptions & { readonly json?: boolean },
): Promise<void> {
  const { syncFolder } = await import("./sync-folder.ts");
  const {
    prefix = "",
    delete: deletes = false,
    watch: watches = false,
    json: isJson = false,
  } = values;
  await syncFolder(api, path, folder, { prefix, deletes, watches, isJson });
}

function checkArguments(
  command: (typeof words)[number],
  name: string,
  rest: readonly string[],
  values: GivenOptions,
): void {
  const takesRest = Object.hasOwn(rests, command);
  if ((command === "list") !== (name === ""))
    throw new TypeError(
      `search ${command} needs ${command === "list" ? "no name" : "the name of one instance"}`,
    );
  if (takesRest !== rest.length > 0) {
    throw new TypeError(`search ${command} needs ${rests[command] ?? "one name"}`);
  }
  if (command === "sync" && rest.length > 1) throw new TypeError("search sync needs one folder");
  checkOptions(command, values);
}

/** The commands that have an option. */
const optionsOf: Readonly<Record<keyof GivenOptions, readonly string[]>> = {
  set: ["create", "set"],
  wait: ["upload", "sync"],
  delete: ["sync"],
  prefix: ["sync"],
  watch: ["sync"],
};

function checkOptions(command: (typeof words)[number], values: GivenOptions): void {
  for (const option of ["set", "wait", "delete", "prefix", "watch"] as const)
    if (values[option] !== undefined && !optionsOf[option].includes(command))
      throw new TypeError(`search ${command} has no option --${option}`);
  if (command === "set" && values.set === undefined)
    throw new TypeError("search set needs --set NAME=VALUE");
  if (values.watch === true && values.wait === true)
    throw new TypeError("--watch never ends: leave out --wait");
}

interface InstanceCall {
  readonly root: string;
  readonly path: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

async function changeOrShow(
  api: ApiClient,
  command: "show" | "create" | "set" | "delete",
  { root, path, name, settings }: InstanceCall,
): ReturnType<typeof api.ask<object>> {
  if (command === "create")
    return api.ask(root, { method: "POST", json: { ...settings, id: name } });
  if (command === "set") return api.ask(path, { method: "PUT", json: settings });
  if (command === "delete") return api.ask(path, { method: "DELETE" });
  const [shown, stats] = [await api.ask<object>(path), await api.ask<object>(`${path}/stats`)];
  return { ...shown, result: { ...shown.result, stats: stats.result } };
}

function printInstances(instances: readonly Instance[], isJson: boolean): void {
  const head = ["NAME", "STATUS", "EMBEDDING MODEL", "CHAT MODEL", "CHUNK", "CREATED"];
  printRows(instances, isJson, head, (one) => [
    one.id,
    one.status,
    one.embedding_model,
    one.ai_search_model,
    `${one.chunk_size} tokens`,
    one.created_at,
  ]);
}

async function printItems(
  api: ApiClient,
  path: string,
  limit: number,
  isJson: boolean,
): Promise<void> {
  const items = await api.all<Item>(`${path}/items?sort_by=modified_at`, limit);
  const head = ["ITEM", "STATUS", "CHUNKS", "BYTES", "ERROR OR WARNING"];
  printRows(items, isJson, head, (one) => [
    one.key,
    one.status,
    one.chunks_count,
    one.file_size,
    lackOf(one),
  ]);
}

interface PrintedSearch {
  readonly query: string;
  readonly limit: number;
  readonly isJson: boolean;
}

async function printChunks(
  api: ApiClient,
  path: string,
  { query, limit, isJson }: PrintedSearch,
): Promise<void> {
  const retrieval = { max_num_results: Math.min(limit, 50) };
  const json = { query, ai_search_options: { retrieval } };
  const { result, notes } = await api.ask<{ readonly chunks: Chunk[] }>(`${path}/search`, {
    method: "POST",
    json,
  });
  printNotes(notes);
  if (isJson) return printRows(result.chunks, true, [], () => []);
  for (const { score, item, text } of result.chunks)
    process.stdout.write(
      `${score.toFixed(3)}  ${printable(item.key)}\n${text.split("\n").map(printable).join("\n")}\n\n`,
    );
  if (result.chunks.length === 0) process.stderr.write("Nothing fits\n");
}
