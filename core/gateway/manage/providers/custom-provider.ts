import * as v from "valibot";
import { ApiError } from "../../../http/api-error.ts";
import { plainText } from "../../../http/plain-text.ts";
import { checkUrl } from "../../../net/check-url.ts";
import type { HeaderPair, System } from "../../../ports.ts";
import type { ListPage } from "../list-page.ts";
import { HEADER_NAME } from "../../settings/header-schema.ts";
import { preview } from "./provider-config.ts";
import { newRecord, recordTimes, type StoredRecord } from "../../records/record.ts";
import type { Records } from "../../records/records.ts";
import type { Vault } from "../../records/vault.ts";
import { isSecretHeader } from "../../wire/header-hygiene.ts";
import { CUSTOM_PREFIX } from "../../providers/target.ts";

/** The body that creates a custom provider. */
export interface CustomProviderCreate {
  readonly base_url: string;
  readonly name: string;
  readonly slug: string;
  /** @default false */
  readonly enable?: boolean | undefined;
  readonly beta?: boolean | undefined;
  readonly description?: string | null | undefined;
  /** JSON object of headers that every request to the provider gets. */
  readonly headers?: string | null | undefined;
  readonly link?: string | null | undefined;
  readonly position?: number | null | undefined;
  readonly curl_example?: string | null | undefined;
  readonly js_example?: string | null | undefined;
}

/** The body that changes one; what it leaves out keeps its value. */
export type CustomProviderChange = {
  readonly [K in keyof CustomProviderCreate]?: CustomProviderCreate[K] | undefined;
};

const text = (maximum: number): v.GenericSchema<string, string> =>
  v.pipe(v.string(), v.maxLength(maximum, `expected at most ${maximum} characters`));

const baseUrl = v.pipe(
  text(2048),
  // Pasted with a space behind it, it would be no address once a path follows.
  v.trim(),
  v.check(
    (url) => refusal(url) === null,
    ({ input }) => refusal(input) ?? "expected an https URL",
  ),
);

const name = plainText(128);

const slug = v.pipe(
  v.string(),
  v.regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, 'expected 1 to 64 of a-z, 0-9 and "-"'),
);

const optional = {
  enable: v.optional(v.boolean()),
  beta: v.optional(v.boolean()),
  description: v.nullish(text(4096)),
  headers: v.nullish(
    v.pipe(
      text(16_384),
      v.check(
        (json) => readHeaders(json) !== null,
        "expected a JSON object of at most 32 header names and their texts",
      ),
    ),
  ),
  link: v.nullish(text(2048)),
  position: v.nullish(
    v.pipe(v.number(), v.integer(), v.minValue(-1_000_000), v.maxValue(1_000_000)),
  ),
  curl_example: v.nullish(text(8192)),
  js_example: v.nullish(text(8192)),
};

/** Checks a {@link CustomProviderCreate}. */
export const customProviderCreate: v.GenericSchema<unknown, CustomProviderCreate> = v.object({
  base_url: baseUrl,
  name,
  slug,
  ...optional,
});

/** Checks a {@link CustomProviderChange}. */
export const customProviderChange: v.GenericSchema<unknown, CustomProviderChange> = v.object({
  base_url: v.optional(baseUrl),
  name: v.optional(name),
  slug: v.optional(slug),
  ...optional,
});

/** What operations on custom providers work with. */
export interface CustomProviderDeps {
  readonly records: Records;
  readonly vault: Vault;
  readonly system: System;
  /** Path segments that the configuration declares: they cannot be defined a second time. */
  readonly declared: (segment: string) => boolean;
}

/** Lists an account's custom providers by position, then name. */
export async function listCustomProviders(
  query: { readonly search: string; readonly where: { readonly [member: string]: boolean } },
  page: ListPage,
  records: Records,
): Promise<{ records: readonly StoredRecord[]; total: number }> {
  const { search, where } = query;
  const searchIn = ["name", "slug"];
  const orderBy = ["position", "name"];
  return records.list(
    { collection: "custom_provider", search, searchIn, where, orderBy },
    page.offset,
    page.perPage,
  );
}

/** Defines a custom provider. Throws `conflict` when its slug is taken. */
export async function createCustomProvider(
  body: CustomProviderCreate,
  deps: CustomProviderDeps,
): Promise<StoredRecord> {
  checkFree(body.slug, deps);
  const id = deps.system.id();
  const { headers, ...rest } = body;
  const provider = {
    ...rest,
    enable: body.enable ?? false,
    beta: body.beta ?? false,
    ...(await headerMembers(id, headers, deps)),
  };
  const record = newRecord(
    { collection: "custom_provider", id, key: body.slug, body: provider },
    deps.system,
  );
  await deps.records.write({ creates: [record] });
  return record;
}

/** Changes a custom provider. Answers cached from it before are not found again (see `generation`). */
export async function updateCustomProvider(
  id: string,
  change: CustomProviderChange,
  deps: CustomProviderDeps,
): Promise<StoredRecord> {
  const old = await deps.records.get({ collection: "custom_provider", id });
  if (change.slug !== undefined) checkFree(change.slug, deps);
  const { headers, ...rest } = change;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const record: StoredRecord = {
    ...old,
    key: change.slug ?? old.key,
    body: {
      ...old.body,
      ...given,
      ...(headers === undefined ? {} : await headerMembers(id, headers, deps)),
    },
    // Strictly later, whatever the clock's grain: cached answers are told apart by it.
    modifiedAt: Math.max(deps.system.now(), old.modifiedAt + 1),
  };
  await deps.records.write({ replaces: [record] });
  return record;
}

/** Deletes a custom provider; throws `not_found`. */
export async function deleteCustomProvider(id: string, records: Records): Promise<StoredRecord> {
  const record = await records.get({ collection: "custom_provider", id });
  await records.remove(record);
  return record;
}

/** A custom provider as clients see it. Header values that can be credentials are shown as previews. */
export function customProviderView(record: StoredRecord): Record<string, unknown> {
  const { sealed: _, headers_preview: headers, ...shown } = record.body;
  return {
    id: record.id,
    ...shown,
    ...(headers == null ? {} : { headers }),
    ...recordTimes(record),
  };
}

/** Headers of a JSON text; null when it is no object of headers that may be set. */
export function readHeaders(json: string): HeaderPair[] | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const pairs: HeaderPair[] = [];
  for (const [key, header] of Object.entries(value)) {
    if (typeof header !== "string" || !isSettable(key) || !/^[\x20-\x7E]{0,4096}$/.test(header))
      return null;
    pairs.push([key.toLowerCase(), header]);
  }
  return pairs.length <= 32 ? pairs : null;
}

/** Whether a provider's header may be set: framing, routing and the gateway's own names are not the editor's. */
function isSettable(header: string): boolean {
  return (
    HEADER_NAME.test(header) &&
    !/^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|accept-encoding|proxy-.*|(?:cf|gw)-aig-.*)$/i.test(
      header,
    )
  );
}

/** The headers twice: sealed, because they can hold credentials, and as they are shown. */
async function headerMembers(
  id: string,
  headers: string | null | undefined,
  { records, vault }: CustomProviderDeps,
): Promise<{ sealed: string | null; headers_preview: string | null }> {
  const pairs = headers == null ? null : readHeaders(headers);
  if (headers == null || pairs === null) return { sealed: null, headers_preview: null };
  const shown = pairs.map(([key, value]) => [key, isSecretHeader(key) ? preview(value) : value]);
  return {
    sealed: await vault.seal(records, id, headers),
    headers_preview: JSON.stringify(Object.fromEntries(shown)),
  };
}

function checkFree(wanted: string, { declared }: CustomProviderDeps): void {
  if (!declared(`${CUSTOM_PREFIX}${wanted}`)) return;
  throw new ApiError("conflict", {
    message: `The provider "${CUSTOM_PREFIX}${wanted}" is declared in the configuration`,
  });
}

/** Why a base URL is not taken; null when it is. What its name resolves to is checked at each request. */
function refusal(url: string): string | null {
  const verdict = checkUrl(url);
  if (!verdict.ok) return verdict.reason;
  if (verdict.url.protocol !== "https:") return "A custom provider's base URL must be https";
  if (verdict.url.search !== "" || verdict.url.hash !== "")
    return "A base URL has no query and no fragment";
  return null;
}
