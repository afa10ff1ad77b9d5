import { misfitText } from "../../../core/http/fields/misfit.ts";
import { readFileSync } from "node:fs";
import process from "node:process";
import * as v from "valibot";
import { commandFailure, readOptions } from "../context/command-options.ts";
import {
  apiClient,
  type ApiClient,
  serverHelp,
  serverOptions,
  ServerRefusal,
} from "./api-client.ts";
import { summary } from "./export-command.ts";
import { type Exported, exportedSchema, type SettingFacts, without } from "./exported.ts";
import { printRows } from "./output.ts";

/** The text of `causey import --help`. */
export const importHelp: string = `Usage: causey import FILE [--dry-run] [options]
       causey import --from FOLDER --database URL
       causey import --to FOLDER --database URL

Puts a file of causey export into a running server; "-" reads standard input. It changes settings that have the same name
(endpoints: the same address), makes new ones, and leaves everything else. Secrets are not in the file: set provider keys
again. A new webhook endpoint gets a new secret, which is printed once.

With --from or --to it moves all state, secrets too, while no server runs: from a data folder into an empty PostgreSQL
database, or back into an empty folder. If it stops or fails, both stay as they were.

  --dry-run          Only prints what would be made and changed
  --from FOLDER      The data folder to move into the database
  --to FOLDER        The data folder to move the database into
  --database URL     postgres://user:password@host/name [CAUSEY_DATABASE_URL]
${serverHelp}`;

/** The result for one entry of the file. */
interface Outcome {
  readonly kind: string;
  readonly name: string;
  readonly outcome: "created" | "changed" | "refused";
  /** Why it was refused. */
  readonly reason?: string;
  /** The secret that signs the webhooks of a new endpoint. */
  readonly secret?: string;
}

/** One thing to be put: made, or changed where it is there. */
interface Put {
  readonly kind: string;
  readonly name: string;
  readonly isThere: boolean;
  readonly run: () => Promise<{ readonly result: unknown } | undefined>;
}

/** Runs `causey import`. */
export async function importCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    ...serverOptions,
    "dry-run": { type: "boolean" },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(importHelp);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new TypeError("causey import needs one file");
  const given = readExport(file);
  const api = apiClient(values);
  const isDry = values["dry-run"] === true;
  const outcomes: Outcome[] = [];
  // In this order: routes name providers, and instances live in namespaces.
  for (const plan of [providerPuts, gatewayPuts, routePuts, searchPuts, endpointPuts])
    for (const one of await plan(given, api, isDry)) outcomes.push(await put(one, isDry));
  const head = ["KIND", "NAME", isDry ? "WOULD BE" : "OUTCOME", "REASON OR SECRET"];
  printRows(outcomes, values.json === true, head, (one) => [
    one.kind,
    one.name,
    one.outcome,
    one.reason ?? one.secret ?? "",
  ]);
  const refused = outcomes.filter((one) => one.outcome === "refused").length;
  if (refused > 0)
    throw new Error(`${refused} of ${outcomes.length} ${refused === 1 ? "was" : "were"} refused`);
  if (!isDry) process.stderr.write(`Imported ${summary(given)}\n`);
}

function readExport(file: string): Exported {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch {
    throw commandFailure(`There is no file "${file}"`, "causey export FILE writes one");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError(`"${file}" does not hold JSON`);
  }
  const read = v.safeParse(exportedSchema, value);
  if (read.success) return read.output;
  // The file of another version may lack anything.
  const version = read.issues.find((issue) => v.getDotPath(issue) === "causey");
  throw new TypeError(`"${file}": ${misfitText(version === undefined ? read.issues : [version])}`);
}

async function put({ kind, name, isThere, run }: Put, isDry: boolean): Promise<Outcome> {
  const outcome = isThere ? "changed" : "created";
  if (isDry) return { kind, name, outcome };
  try {
    const result = (await run())?.result;
    const isSecret = typeof result === "object" && result !== null && "secret" in result;
    return { kind, name, outcome, ...(isSecret ? { secret: String(result.secret) } : {}) };
  } catch (error) {
    if (!(error instanceof ServerRefusal)) throw error;
    return { kind, name, outcome: "refused", reason: error.message };
  }
}

type Plan = (given: Exported, api: ApiClient, isDry: boolean) => Promise<Put[]>;

const providerPuts: Plan = async ({ custom_providers: providers }, api) => {
  if (providers.length === 0) return [];
  const path = "/ai-gateway/custom-providers";
  const there = new Map(
    (await api.all<SettingFacts>(path)).map((one) => [String(one["slug"]), String(one["id"])]),
  );
  return providers.map((json) => {
    const name = String(json["slug"]);
    const id = there.get(name);
    const run = (): ReturnType<Put["run"]> =>
      id === undefined
        ? api.ask(path, { method: "POST", json })
        : api.ask(`${path}/${id}`, { method: "PUT", json });
    return { kind: "custom provider", name, isThere: id !== undefined, run };
  });
};

const GATEWAYS = "/ai-gateway/gateways";

const gatewayPuts: Plan = async ({ gateways }, api) => {
  const there = new Set((await api.all<SettingFacts>(GATEWAYS)).map((one) => String(one["id"])));
  return gateways.map(({ settings }) => {
    const name = String(settings["id"]);
    const isThere = there.has(name);
    const path = `${GATEWAYS}/${encodeURIComponent(name)}`;
    const run = (): ReturnType<Put["run"]> =>
      isThere
        ? api.ask(path, { method: "PUT", json: without(settings, ["id"]) })
        : api.ask(GATEWAYS, { method: "POST", json: settings });
    return { kind: "gateway", name, isThere, run };
  });
};

interface ExistingRoute {
  readonly id: string;
  readonly name: string;
  readonly elements: unknown;
}

const routePuts: Plan = async ({ gateways }, api, isDry) => {
  const puts: Put[] = [];
  for (const { settings, routes } of gateways.filter((one) => one.routes.length > 0)) {
    const path = `${GATEWAYS}/${encodeURIComponent(String(settings["id"]))}/routes`;
    const found = await api
      .ask<{ readonly routes: ExistingRoute[] }>(`${path}?per_page=100`)
      .catch((error: unknown) => {
        // Its gateway is not there: it was refused, or this is a rehearsal.
        if (error instanceof ServerRefusal || isDry) return { result: { routes: [] } };
        throw error;
      });
    for (const { name, elements } of routes) {
      const old = found.result.routes.find((one) => one.name === name);
      const run = (): ReturnType<Put["run"]> =>
        old === undefined
          ? api.ask(path, { method: "POST", json: { name, elements } })
          : deploy(api, `${path}/${old.id}`, old, elements);
      puts.push({
        kind: "route",
        name: `${String(settings["id"])}/${name}`,
        isThere: old !== undefined,
        run,
      });
    }
  }
  return puts;
};

/** Adds a version where the route differs, and deploys it. */
async function deploy(
  api: ApiClient,
  path: string,
  old: ExistingRoute,
  elements: unknown,
): ReturnType<Put["run"]> {
  if (JSON.stringify(old.elements) === JSON.stringify(elements)) return undefined;
  const version = await api.ask<{ readonly version_id: string }>(`${path}/versions`, {
    method: "POST",
    json: { elements },
  });
  const json = { version_id: version.result.version_id };
  return api.ask(`${path}/deployments`, { method: "POST", json });
}

const searchPuts: Plan = async ({ namespaces }, api) => {
  if (namespaces.length === 0) return [];
  const root = "/ai-search/namespaces";
  const there = new Set((await api.all<{ readonly name: string }>(root)).map((one) => one.name));
  const puts: Put[] = [];
  for (const { name, description, instances } of namespaces) {
    const isThere = there.has(name);
    if (!isThere)
      puts.push({
        kind: "search namespace",
        name,
        isThere,
        run: () => api.ask(root, { method: "POST", json: { name, description } }),
      });
    const path = `${root}/${encodeURIComponent(name)}/instances`;
    const ids = new Set(
      isThere ? (await api.all<{ readonly id: string }>(path)).map((one) => one.id) : [],
    );
    for (const settings of instances) {
      const id = String(settings["id"]);
      const run = (): ReturnType<Put["run"]> =>
        ids.has(id)
          ? api.ask(`${path}/${id}`, { method: "PUT", json: without(settings, ["id"]) })
          : api.ask(path, { method: "POST", json: settings });
      puts.push({ kind: "search instance", name: `${name}/${id}`, isThere: ids.has(id), run });
    }
  }
  return puts;
};

/** Fields of an endpoint that are fixed when it is created. */
const ofCreation = ["format", "key_type"];

const endpointPuts: Plan = async ({ webhook_endpoints: endpoints }, api) => {
  const path = "/webhooks/endpoints";
  const there = new Map(
    (await api.ask<SettingFacts[]>(path)).result.map((one) => [
      String(one["url"]),
      String(one["id"]),
    ]),
  );
  return endpoints.map((settings) => {
    const name = String(settings["url"]);
    const id = there.get(name);
    const json = settings["description"] === null ? without(settings, ["description"]) : settings;
    const run = async (): ReturnType<Put["run"]> => {
      if (id !== undefined)
        return api.ask(`${path}/${id}`, { method: "PATCH", json: without(json, ofCreation) });
      const made = await api.ask<{ readonly id: string }>(path, {
        method: "POST",
        json: without(json, ["enabled"]),
      });
      if (json["enabled"] === false)
        await api.ask(`${path}/${made.result.id}`, { method: "PATCH", json: { enabled: false } });
      return made;
    };
    return { kind: "webhook endpoint", name, isThere: id !== undefined, run };
  });
};
