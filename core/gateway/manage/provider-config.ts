import * as v from "valibot";
import { invalidRequest } from "../../http/api-error.ts";
import { recordView, type StoredRecord } from "../account/records/record.ts";
import { headerCredential } from "../../http/fields/header-schema.ts";
import { jsonText, ownMember } from "../../http/json.ts";
import { secretOrigin } from "../../net/secret-origin.ts";
import { cloudOf, readCloudSecret } from "../providers/clouds/cloud-settings.ts";
import { providerRow } from "../providers/known/table.ts";
import { keyOrigin, type KeyOrigins, keyOrigins } from "../providers/stored/key-origin.ts";
import { CUSTOM_PREFIX } from "../providers/target.ts";
import { checkProvider } from "./context.ts";
import { type RecordResource, recordResource, type RecordScope } from "./record-resource.ts";

/** Stored keys of one secret that are looked at for one of an origin. */
const SHARING = 100;

const alias = v.pipe(
  v.string(),
  v.regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, "-", "_" or "."'),
);

const limit = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000)));

const period = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(2_678_400)));

const optional = {
  secret: v.nullish(headerCredential),
  /** Names the secret of another stored key of this gateway. */
  secret_id: v.nullish(v.pipe(v.string(), v.maxLength(64))),
  /** Requests per period, which is 60 seconds unless told. */
  rate_limit: limit,
  rate_limit_period: period,
};

const create = v.object({
  alias,
  default_config: v.boolean(),
  provider_slug: v.pipe(v.string(), v.minLength(1), v.maxLength(80)),
  ...optional,
});

/** The body of a change; members that it leaves out keep their values. */
const change = v.object({
  alias: v.optional(alias),
  default_config: v.optional(v.boolean()),
  provider_slug: v.optional(v.string()),
  ...optional,
});

/** Keys of providers that a gateway keeps: shown as previews, never the secret. */
export const providerConfigs: RecordResource = recordResource({
  path: "/gateways/:gateway_id/provider_configs",
  collection: "provider_config",
  sole: "default_config",
  view: (record, { gateway }) => {
    const { sealed: _, ...shown } = record.body;
    return recordView(gateway, { ...record, body: shown });
  },
  create,
  async draft(body, scope) {
    const { provider_slug: slug } = body;
    await checkProvider(slug, scope.account, scope.deps);
    checkSecret(slug, body.secret);
    const config = {
      alias: body.alias,
      default_config: body.default_config,
      provider_slug: slug,
      ...(await secretOf(slug, body, scope)),
      ...limitOf(body.rate_limit, body.rate_limit_period),
    };
    return { parent: slug, key: `${slug}/${body.alias}`, body: config };
  },
  change: { methods: ["PUT", "PATCH"], schema: change, apply: changed },
});

/** Throws `invalid_request` for a secret of a cloud that cannot be its credential. */
function checkSecret(slug: string, secret: string | null | undefined): void {
  if (secret == null || cloudOf(slug) === undefined) return;
  const read = readCloudSecret(slug, secret);
  if (typeof read === "string") throw invalidRequest(`secret: ${read}`);
}

/** Its provider stays. */
async function changed(
  old: StoredRecord,
  body: v.InferOutput<typeof change>,
  scope: RecordScope,
): Promise<Pick<StoredRecord, "key" | "body">> {
  if (body.provider_slug !== undefined && body.provider_slug !== old.parent) {
    throw invalidRequest(
      `provider_slug: a stored key cannot move to another provider than "${old.parent}"`,
    );
  }
  checkSecret(old.parent, body.secret);
  const { rate_limit: was, rate_limit_period: wasPeriod, ...kept } = old.body;
  // Its own id, as clients send it back, changes nothing.
  const isNew =
    body.secret != null || (body.secret_id != null && body.secret_id !== old.body["secret_id"]);
  return {
    key: `${old.parent}/${body.alias ?? jsonText(old.body["alias"])}`,
    body: {
      ...kept,
      ...(body.alias === undefined ? {} : { alias: body.alias }),
      ...(body.default_config === undefined ? {} : { default_config: body.default_config }),
      ...(isNew ? await secretOf(old.parent, body, scope) : {}),
      ...limitOf(
        body.rate_limit === undefined ? numberOf(was) : body.rate_limit,
        body.rate_limit_period === undefined ? numberOf(wasPeriod) : body.rate_limit_period,
      ),
    },
  };
}

/** The members of a secret, with the origin that it belongs to where its provider can be moved. */
type SecretMembers = {
  secret_id: string;
  secret_preview: string;
  sealed: string;
  origin?: string;
};

/** A new secret is sealed under an id of its own; a known one is shared by its id, at the origin that it belongs to. */
async function secretOf(
  slug: string,
  { secret: text, secret_id: known }: v.InferOutput<typeof change>,
  scope: RecordScope,
): Promise<SecretMembers> {
  const {
    records,
    system,
    deps: { vault },
  } = scope;
  const { origin } = await originsOf(slug, scope);
  const bound = slug.startsWith(CUSTOM_PREFIX) && origin !== null ? { origin } : {};
  if (text != null) {
    const id = system.id();
    return {
      secret_id: id,
      secret_preview: preview(text),
      sealed: await vault.seal(records, id, text),
      ...bound,
    };
  }
  if (known == null) {
    throw invalidRequest(
      'secret: a provider key is needed, or the "secret_id" of one that is stored',
    );
  }
  const { body } = await sharedConfig(known, origin, scope);
  return {
    secret_id: known,
    secret_preview: jsonText(body["secret_preview"]),
    sealed: jsonText(body["sealed"]),
    ...bound,
  };
}

/** Finds a stored key by the id of its secret, which may go to `origin`. */
async function sharedConfig(
  id: string,
  origin: string | null,
  scope: RecordScope,
): Promise<StoredRecord> {
  const query = { collection: "provider_config", where: { secret_id: id } } as const;
  const { records: found } = await scope.records.list(query, 0, SHARING);
  for (const config of found) {
    const of = await originsOf(config.parent, scope);
    const own = config.parent.startsWith(CUSTOM_PREFIX) ? keyOrigin(config, of) : of.origin;
    if (own !== null && own === origin) return config;
  }
  throw invalidRequest(
    found.length === 0
      ? `secret_id: this gateway stores no secret "${id}"`
      : `secret_id: the secret "${id}" belongs to another host than this provider's: give "secret"`,
  );
}

/** Returns the origin of a provider. What a built-in one's path decides stands in it as it is written there. */
async function originsOf(slug: string, { account, deps }: RecordScope): Promise<KeyOrigins> {
  const { configured, records } = deps;
  const settings = ownMember(configured, slug);
  const known = providerRow(slug);
  const base = settings?.baseUrl ?? known?.baseUrl;
  if (base != null || !slug.startsWith(CUSTOM_PREFIX)) {
    const origin = base == null ? slug : (secretOrigin(base) ?? base);
    return { origin, earlyKeyOrigin: origin };
  }
  const name = slug.slice(CUSTOM_PREFIX.length);
  const record = await records.ofAccount(account).find("custom_provider", name);
  return record === null ? { origin: null, earlyKeyOrigin: null } : keyOrigins(record);
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
