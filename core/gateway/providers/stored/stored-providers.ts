import { ApiError, invalidRequest } from "../../../http/api-error.ts";
import type { System } from "../../../ports.ts";
import { recentMap } from "../../../work/recent-map.ts";
import { retryAfter } from "../../../http/fields/retry-after.ts";
import { jsonText } from "../../../http/json.ts";
import {
  DEFAULT_ALIAS,
  declaredGateway,
  type DeclaredGateways,
  declaredKey,
} from "../../account/settings/declared-gateways.ts";
import type { GatewayName } from "../../account/settings/gateway-name.ts";
import { readHeaders } from "./custom-headers.ts";
import { checkKeyOrigin, keyOrigins } from "./key-origin.ts";
import { CUSTOM_PREFIX } from "../target.ts";
import { recordLimits, type StoredRecord } from "../../account/records/record.ts";
import type { Records, RecordStore } from "../../account/records/records.ts";
import type { Vault } from "../../account/records/vault.ts";
import type {
  KeyHolder,
  StoredNames,
  StoredProviders,
} from "../../account/records/stored-providers.ts";

/** Opened secrets that are kept, and for how many milliseconds: opening one costs as much as half a request. */
const OPENED = 1000;
const OPENED_MS = 60_000;

export function storedProviders(store: RecordStore, vault: Vault, system: System): StoredProviders {
  const opened = recentMap<string>(OPENED, OPENED_MS, system);
  const open = async (records: Records, record: StoredRecord, id: string): Promise<string> => {
    const sealed = jsonText(record.body["sealed"]);
    // A secret opens in its place only, and another one is sealed into another text.
    const key = JSON.stringify([records.place, id, sealed]);
    const known = opened.get(key);
    if (known !== undefined) return known;
    const { text, resealed } = await vault.open(records, id, sealed);
    // When this fails the secret stays under the old key, where the next request finds it again.
    if (resealed === null) opened.set(key, text);
    else
      system.waitUntil(records.reseal(record.collection, sealed, resealed).catch(() => undefined));
    return text;
  };
  return {
    async key(name, holder, alias) {
      const records = store.ofGateway(name);
      const config = await configOf(records, holder, alias);
      if (config === null) return null;
      await countUse(config, records);
      return open(records, config, jsonText(config.body["secret_id"]));
    },
    async peek(name, holder, alias) {
      const records = store.ofGateway(name);
      const config = await configOf(records, holder, alias);
      return config && open(records, config, jsonText(config.body["secret_id"]));
    },
    async custom(account, segment) {
      if (!segment.startsWith(CUSTOM_PREFIX)) return null;
      const records = store.ofAccount(account);
      const slug = segment.slice(CUSTOM_PREFIX.length);
      const record = slug.length > 64 ? null : await records.find("custom_provider", slug);
      if (record === null) return null;
      if (record.body["enable"] !== true) {
        throw new ApiError("provider_unknown", {
          message: `The provider "${segment}" is not enabled`,
        });
      }
      const headers =
        typeof record.body["sealed"] === "string"
          ? (readHeaders(await open(records, record, record.id)) ?? [])
          : [];
      return {
        baseUrl: jsonText(record.body["base_url"]),
        ...keyOrigins(record),
        headers,
        generation: `${record.id}/${record.modifiedAt}`,
      };
    },
    async hasKey(name, segment, alias) {
      const configs = await store.ofGateway(name).group("provider_config", segment);
      return chooseConfig(configs, alias) !== null;
    },
    async route(name, route) {
      const record = await store.ofGateway(name).find("route", route);
      return record === null ? null : { id: record.id, elements: record.body["elements"] };
    },
    names: (name) => storedNames(store, name),
    uses: (name) => store.ofGateway(name),
  };
}

/**
 * Finds a stored key; null for none where no alias is named. Throws `invalid_request` for an alias that is not stored, and
 * for a key that belongs to another origin.
 */
async function configOf(
  records: Records,
  { slug: segment, custom }: KeyHolder,
  alias: string | undefined,
): Promise<StoredRecord | null> {
  const config = chooseConfig(await records.group("provider_config", segment), alias);
  if (config !== null) checkKeyOrigin(config, custom);
  if (config !== null || alias === undefined) return config;
  throw invalidRequest(
    `Header cf-aig-byok-alias: this gateway stores no key "${alias}" for "${segment}"`,
  );
}

async function storedNames(store: RecordStore, name: GatewayName): Promise<StoredNames> {
  const [custom, routes] = await Promise.all([
    store
      .ofAccount(name.account)
      .list({ collection: "custom_provider" }, 0, recordLimits.custom_provider),
    store.ofGateway(name).list({ collection: "route" }, 0, recordLimits.route),
  ]);
  const enabled = custom.records.filter(({ body }) => body["enable"] === true);
  return {
    custom: enabled.map(({ body }) => CUSTOM_PREFIX + jsonText(body["slug"])),
    routes: routes.records.map(({ body }) => jsonText(body["name"])),
  };
}

/** Returns the stored providers, with the keys and routes that are declared over them. */
export function withDeclaredProviders(
  stored: StoredProviders,
  declared: DeclaredGateways,
): StoredProviders {
  const keyOf = (name: GatewayName, segment: string, alias: string | undefined): string | null =>
    declaredKey(declaredGateway(name, declared), segment, alias);
  return {
    ...stored,
    key: async (name, holder, alias) =>
      keyOf(name, holder.slug, alias) ?? stored.key(name, holder, alias),
    peek: async (name, holder, alias) =>
      keyOf(name, holder.slug, alias) ?? stored.peek(name, holder, alias),
    hasKey: async (name, segment, alias) =>
      keyOf(name, segment, alias) !== null || stored.hasKey(name, segment, alias),
    async route(name, route) {
      const routes = declaredGateway(name, declared)?.routes ?? {};
      if (!Object.hasOwn(routes, route)) return stored.route(name, route);
      return { id: `declared/${route}`, elements: routes[route] };
    },
    async names(name) {
      const { custom, routes } = await stored.names(name);
      const own = Object.keys(declaredGateway(name, declared)?.routes ?? {});
      return { custom, routes: [...new Set([...own, ...routes])] };
    },
  };
}

async function countUse(config: StoredRecord, records: Records): Promise<void> {
  const { rate_limit: limit, rate_limit_period: seconds } = config.body;
  if (typeof limit !== "number" || typeof seconds !== "number") return;
  const place = { scope: config.id, rule: "key" };
  const rule = { limitType: "requests", limit, window: seconds, technique: "fixed" } as const;
  const use = await records.takeUse(place, rule);
  if ("entries" in use) return;
  throw new ApiError("gateway_rate_limited", {
    message: `The stored key "${jsonText(config.body["alias"])}" is over its own limit of ${limit} requests in ${seconds} s`,
    headers: retryAfter(use.wait ?? 0),
  });
}

/** Returns the stored key that a request means: the alias it names, else the provider's default one. */
export function chooseConfig(
  configs: readonly StoredRecord[],
  wanted: string | undefined,
): StoredRecord | null {
  const named = (name: string): StoredRecord | null =>
    configs.find(({ body }) => body["alias"] === name) ?? null;
  if (wanted !== undefined) return named(wanted);
  return configs.findLast(({ body }) => body["default_config"] === true) ?? named(DEFAULT_ALIAS);
}
