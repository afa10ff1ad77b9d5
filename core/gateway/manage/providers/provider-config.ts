import * as v from "valibot";
import { ApiError } from "../../../http/api-error.ts";
import type { System } from "../../../ports.ts";
import { jsonText } from "../../wire/json-access.ts";
import type { ListPage } from "../list-page.ts";
import { headerCredential } from "../../settings/header-schema.ts";
import { newRecord, recordView, type StoredRecord } from "../../records/record.ts";
import type { Records } from "../../records/records.ts";
import type { Vault } from "../../records/vault.ts";
import { DEFAULT_ALIAS } from "../../settings/declared-gateways.ts";

/** Only one key of a provider is its default. */
const DEFAULT_FLAG = "default_config";

const alias = v.pipe(
  v.string(),
  v.regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, "-", "_" or "."'),
);

const limit = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000)));

const period = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(2_678_400)));

/** The body that stores a provider's key. */
export interface ProviderConfigCreate {
  readonly alias: string;
  readonly default_config: boolean;
  readonly provider_slug: string;
  readonly secret?: string | null | undefined;
  /** Names the secret of another stored key of this gateway. */
  readonly secret_id?: string | null | undefined;
  /** Requests per period. */
  readonly rate_limit?: number | null | undefined;
  /** Seconds. @default 60 */
  readonly rate_limit_period?: number | null | undefined;
}

/** The body that changes a stored key; what it leaves out keeps its value. */
export type ProviderConfigChange = {
  readonly [K in keyof ProviderConfigCreate]?: ProviderConfigCreate[K] | undefined;
};

const optional = {
  secret: v.nullish(headerCredential),
  secret_id: v.nullish(v.pipe(v.string(), v.maxLength(64))),
  rate_limit: limit,
  rate_limit_period: period,
};

/** Checks a {@link ProviderConfigCreate}. */
export const providerConfigCreate: v.GenericSchema<unknown, ProviderConfigCreate> = v.object({
  alias,
  default_config: v.boolean(),
  provider_slug: v.pipe(v.string(), v.minLength(1), v.maxLength(80)),
  ...optional,
});

/** Checks a {@link ProviderConfigChange}. */
export const providerConfigChange: v.GenericSchema<unknown, ProviderConfigChange> = v.object({
  alias: v.optional(alias),
  default_config: v.optional(v.boolean()),
  provider_slug: v.optional(v.string()),
  ...optional,
});

/** What operations on stored keys work with. */
export interface ProviderConfigDeps {
  readonly records: Records;
  readonly vault: Vault;
  readonly system: System;
  /** Throws when there is no provider of this name. */
  readonly checkProvider: (slug: string) => Promise<void>;
}

/** A stored key as clients see it: a preview, never the secret. */
export function providerConfigView(gateway: string, record: StoredRecord): Record<string, unknown> {
  const { sealed: _, ...shown } = record.body;
  return recordView(gateway, { ...record, body: shown });
}

/** Lists a gateway's stored keys, newest first. */
export async function listProviderConfigs(
  page: ListPage,
  records: Records,
): Promise<{ records: readonly StoredRecord[]; total: number }> {
  return records.list({ collection: "provider_config" }, page.offset, page.perPage);
}

/** Stores a key. Throws `conflict` when the provider has one with this alias. */
export async function createProviderConfig(
  body: ProviderConfigCreate,
  deps: ProviderConfigDeps,
): Promise<StoredRecord> {
  const { provider_slug: slug } = body;
  await deps.checkProvider(slug);
  const config = {
    alias: body.alias,
    default_config: body.default_config,
    provider_slug: slug,
    ...(await secretOf(body, deps)),
    ...limitOf(body.rate_limit, body.rate_limit_period),
  };
  const key = `${slug}/${body.alias}`;
  const record = newRecord(
    { collection: "provider_config", parent: slug, key, body: config },
    deps.system,
  );
  await deps.records.write({ creates: [record], sole: DEFAULT_FLAG });
  return record;
}

/** Changes a stored key. Its provider stays; throws `not_found`. */
export async function updateProviderConfig(
  id: string,
  change: ProviderConfigChange,
  deps: ProviderConfigDeps,
): Promise<StoredRecord> {
  const old = await deps.records.get({ collection: "provider_config", id });
  if (change.provider_slug !== undefined && change.provider_slug !== old.parent) {
    throw new ApiError("invalid_request", {
      message: `provider_slug: a stored key cannot move to another provider than "${old.parent}"`,
    });
  }
  const { rate_limit: was, rate_limit_period: wasPeriod, ...kept } = old.body;
  const isNew = change.secret != null || change.secret_id != null;
  const given = {
    ...(change.alias === undefined ? {} : { alias: change.alias }),
    ...(change.default_config === undefined ? {} : { default_config: change.default_config }),
  };
  const record: StoredRecord = {
    ...old,
    key: `${old.parent}/${change.alias ?? jsonText(old.body["alias"])}`,
    body: {
      ...kept,
      ...given,
      ...(isNew ? await secretOf(change, deps) : {}),
      ...limitOf(
        change.rate_limit === undefined ? numberOf(was) : change.rate_limit,
        change.rate_limit_period === undefined ? numberOf(wasPeriod) : change.rate_limit_period,
      ),
    },
    modifiedAt: deps.system.now(),
  };
  await deps.records.write({ replaces: [record], sole: DEFAULT_FLAG });
  return record;
}

/** Deletes a stored key; throws `not_found`. */
export async function deleteProviderConfig(id: string, records: Records): Promise<StoredRecord> {
  const record = await records.get({ collection: "provider_config", id });
  await records.remove(record);
  return record;
}

/** The stored key that a request means: the alias it names, else the provider's default one. */
export function chooseConfig(
  configs: readonly StoredRecord[],
  wanted: string | undefined,
): StoredRecord | null {
  const named = (name: string): StoredRecord | null =>
    configs.find(({ body }) => body["alias"] === name) ?? null;
  if (wanted !== undefined) return named(wanted);
  return configs.findLast(({ body }) => body["default_config"] === true) ?? named(DEFAULT_ALIAS);
}

type SecretMembers = { secret_id: string; secret_preview: string; sealed: string };

/** A new secret is sealed under an id of its own; a known one is shared by its id. */
async function secretOf(
  { secret: text, secret_id: known }: ProviderConfigChange,
  { records, vault, system }: ProviderConfigDeps,
): Promise<SecretMembers> {
  if (text != null) {
    const id = system.id();
    return {
      secret_id: id,
      secret_preview: preview(text),
      sealed: await vault.seal(records, id, text),
    };
  }
  if (known == null) {
    throw new ApiError("invalid_request", {
      message: 'secret: a provider key is needed, or the "secret_id" of one that is stored',
    });
  }
  const where = { secret_id: known };
  const { records: found } = await records.list({ collection: "provider_config", where }, 0, 1);
  const body = found[0]?.body;
  if (body === undefined) {
    throw new ApiError("invalid_request", {
      message: `secret_id: this gateway stores no secret "${known}"`,
    });
  }
  return {
    secret_id: known,
    secret_preview: jsonText(body["secret_preview"]),
    sealed: jsonText(body["sealed"]),
  };
}

function limitOf(
  requests: number | null | undefined,
  seconds: number | null | undefined,
): { rate_limit?: number; rate_limit_period?: number } {
  return requests == null ? {} : { rate_limit: requests, rate_limit_period: seconds ?? 60 };
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Enough to tell keys apart, too little to guess one: the ends of a long secret, nothing of a short one. */
export function preview(text: string): string {
  return text.length < 20 ? "…" : `${text.slice(0, 3)}…${text.slice(-4)}`;
}
