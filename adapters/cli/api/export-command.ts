import { writeFileSync } from "node:fs";
import process from "node:process";
import { readOptions } from "../context/command-options.ts";
import { apiClient, type ApiClient, serverHelp, serverOptions } from "./api-client.ts";
import { type Exported, type SettingFacts, nothing, without } from "./exported.ts";
import { counted } from "../../shared/work/counted.ts";

const help = `Usage: causey export [FILE] [options]

Writes the settings of an account as JSON: gateways with their dynamic routes, custom providers, search namespaces and
instances, webhook endpoints. causey import puts them into another server. Without FILE, or with "-", it prints them.

It leaves out secrets: provider keys, virtual keys, tokens, headers of custom providers and trace collectors, and signing
secrets of webhooks. It also leaves out logs, items and deliveries: causey backup holds everything.

${serverHelp}`;

/** Fields that belong to one server: an import into another server cannot take them over. */
const ofServer = ["id", "created_at", "modified_at", "is_default"];

/** Runs `causey export`. */
export async function exportCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, serverOptions);
  if (values.help === true) return void process.stdout.write(help);
  const [file, ...more] = positionals;
  if (more.length > 0) throw new TypeError(`causey export takes one file, got "${more[0]}", too`);
  const found = await exported(apiClient(values));
  const text = `${JSON.stringify(found, null, values.json === true ? undefined : 2)}\n`;
  if (file === undefined || file === "-") return void process.stdout.write(text);
  writeFileSync(file, text);
  process.stderr.write(`${file}: ${summary(found)}\n`);
}

/** Summarises an export in one line. */
export function summary({
  gateways,
  custom_providers: providers,
  namespaces,
  webhook_endpoints: endpoints,
}: Exported): string {
  const instances = namespaces.flatMap((one) => one.instances);
  const counts = [
    [gateways.length, "gateway"],
    [providers.length, "custom provider"],
    [instances.length, "search instance"],
    [endpoints.length, "webhook endpoint"],
  ] as const;
  return counts.map(([count, what]) => counted(count, what)).join(", ");
}

async function exported(api: ApiClient): Promise<Exported> {
  const providers = await api.all<SettingFacts>("/ai-gateway/custom-providers");
  const endpoints = (await api.ask<SettingFacts[]>("/webhooks/endpoints")).result;
  return {
    ...nothing,
    custom_providers: providers.map((one) => without(one, [...ofServer, "headers"])),
    gateways: await gatewaysOf(api),
    namespaces: await namespacesOf(api),
    webhook_endpoints: endpoints.map((one) => ({
      ...without(one, [
        ...ofServer,
        "public_key",
        "disabled_reason",
        "tripped_until",
        "header_names",
      ]),
      key_type: one["public_key"] === null ? "hmac" : "ed25519",
    })),
  };
}

async function gatewaysOf(api: ApiClient): Promise<Exported["gateways"]> {
  const found: Exported["gateways"][number][] = [];
  for (const settings of await api.all<SettingFacts & { readonly id: string }>(
    "/ai-gateway/gateways",
  )) {
    const path = `/ai-gateway/gateways/${encodeURIComponent(settings.id)}/routes`;
    const routes = await routesOf(api, path);
    // Credentials of collectors are masked, so they cannot be imported.
    const own = without(settings, [...ofServer, "otel"]);
    found.push({ settings: { id: settings.id, ...own }, routes });
  }
  return found;
}

interface RouteFacts {
  readonly name: string;
  readonly elements: unknown;
}

/** The listings of routes have their rows one step deeper. */
async function routesOf(api: ApiClient, path: string): Promise<RouteFacts[]> {
  const routes: RouteFacts[] = [];
  for (let page = 1; ; page++) {
    const question = `${path}?page=${page}&per_page=50`;
    const { result } = await api.ask<{ readonly routes: RouteFacts[] }>(question);
    routes.push(...result.routes.map(({ name, elements }) => ({ name, elements })));
    if (result.routes.length < 50) return routes;
  }
}

interface NamespaceFacts {
  readonly name: string;
  readonly description?: string | null;
}

async function namespacesOf(api: ApiClient): Promise<Exported["namespaces"]> {
  const found: Exported["namespaces"][number][] = [];
  for (const { name, description } of await api.all<NamespaceFacts>("/ai-search/namespaces")) {
    const path = `/ai-search/namespaces/${encodeURIComponent(name)}/instances`;
    const instances = await api.all<SettingFacts>(path);
    const left = ["namespace", "status", "engine_version", ...ofServer.slice(1)];
    found.push({
      name,
      description: description ?? null,
      instances: instances.map((one) => without(one, left)),
    });
  }
  return found;
}
