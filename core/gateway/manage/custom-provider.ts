import * as v from "valibot";
import { invalidRequest, conflict } from "../../http/api-error.ts";
import { plainText } from "../../http/plain-text.ts";
import { checkUrl } from "../../net/check-url.ts";
import { secretOrigin } from "../../net/secret-origin.ts";
import { CUSTOM_PREFIX } from "../providers/target.ts";
import { recordTimes, type StoredRecord } from "../account/records/record.ts";
import { readHeaders } from "../providers/stored/custom-headers.ts";
import { keyOrigins } from "../providers/stored/key-origin.ts";
import { isSecretHeader } from "../wire/header-hygiene.ts";
import { type RecordResource, recordResource, type RecordScope } from "./record-resource.ts";
import { preview } from "./provider-config.ts";

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
  /** JSON object of headers that every request to the provider gets. */
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

const create = v.object({
  base_url: baseUrl,
  name,
  slug,
  ...optional,
});

/** The body of a change; members that it leaves out keep their values. */
const change = v.object({
  base_url: v.optional(baseUrl),
  name: v.optional(name),
  slug: v.optional(slug),
  ...optional,
});

/** Custom providers of an account. Answers cached from one before a change are not found again (see `generation`). */
export const customProviders: RecordResource = recordResource({
  path: "/custom-providers",
  collection: "custom_provider",
  listing: {
    searchIn: ["name", "slug"],
    flags: ["enable", "beta"],
    orderBy: ["position", "name"],
  },
  view,
  create,
  async draft(body, scope) {
    checkFree(body.slug, scope);
    const id = scope.system.id();
    const { headers, ...rest } = body;
    const provider = {
      ...rest,
      enable: body.enable ?? false,
      beta: body.beta ?? false,
      // Every key that is stored for it from now on has an origin of its own.
      early_key_origin: null,
      ...(await headerMembers(id, headers, scope)),
    };
    return { id, key: body.slug, body: provider };
  },
  change: {
    methods: ["PUT", "PATCH"],
    schema: change,
    async apply(old, body, scope) {
      if (body.slug !== undefined) checkFree(body.slug, scope);
      const { headers, ...rest } = body;
      if (headers === undefined) checkHeaders(old, body.base_url);
      const given = Object.entries(rest).filter(([, value]) => value !== undefined);
      const sealed = headers === undefined ? {} : await headerMembers(old.id, headers, scope);
      const key = body.slug ?? old.key;
      // Keys without an origin are as old as the record, and were stored under its name of then.
      const early = key === old.key ? keyOrigins(old).earlyKeyOrigin : null;
      const kept = { ...old.body, early_key_origin: early };
      return { key, body: { ...kept, ...Object.fromEntries(given), ...sealed } };
    },
  },
});

/** A custom provider as clients see it. Header values that can be credentials are shown as previews. */
function view(record: StoredRecord): Record<string, unknown> {
  const { sealed: _, early_key_origin: __, headers_preview: headers, ...shown } = record.body;
  return {
    id: record.id,
    ...shown,
    ...(headers == null ? {} : { headers }),
    ...recordTimes(record),
  };
}

/** The headers twice: sealed, because they can hold credentials, and as they are shown. */
async function headerMembers(
  id: string,
  headers: string | null | undefined,
  { records, deps: { vault } }: RecordScope,
): Promise<{ sealed: string | null; headers_preview: string | null }> {
  const pairs = headers == null ? null : readHeaders(headers);
  if (headers == null || pairs === null) return { sealed: null, headers_preview: null };
  const shown = pairs.map(([key, value]) => [key, isSecretHeader(key) ? preview(value) : value]);
  return {
    sealed: await vault.seal(records, id, headers),
    headers_preview: JSON.stringify(Object.fromEntries(shown)),
  };
}

/**
 * Refuses an address at another host for headers that were given for the former one: of credentials among them only previews
 * are shown.
 */
function checkHeaders({ body }: StoredRecord, url: string | undefined): void {
  const { base_url: former, sealed } = body;
  if (url === undefined || sealed == null || typeof former !== "string") return;
  if (secretOrigin(url) === secretOrigin(former)) return;
  throw invalidRequest('base_url: the headers would go to another host: give "headers", too');
}

/** Refuses a slug that the configuration declares: it cannot be defined a second time. */
function checkFree(wanted: string, { deps: { configured } }: RecordScope): void {
  if (!Object.hasOwn(configured, `${CUSTOM_PREFIX}${wanted}`)) return;
  throw conflict(`The provider "${CUSTOM_PREFIX}${wanted}" is declared in the configuration`);
}

/** Returns why a base URL is refused; null when it is not. The addresses of its name are checked at each request. */
function refusal(url: string): string | null {
  const verdict = checkUrl(url);
  if (!verdict.ok) return verdict.reason;
  if (verdict.url.protocol !== "https:") return "A custom provider's base URL must be https";
  if (verdict.url.search !== "" || verdict.url.hash !== "")
    return "A base URL has no query and no fragment";
  return null;
}
