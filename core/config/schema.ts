import * as v from "valibot";

const url = v.pipe(v.string(), v.url("Expected an absolute URL"));
const id = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected 1 to 64 of A-Z, a-z, 0-9, _ and -"));
const strings = v.array(v.pipe(v.string(), v.minLength(1)));
const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const secret = v.pipe(v.string(), v.minLength(1, "Expected a secret, got an empty string"));

const token = v.strictObject({
  token: v.pipe(v.string(), v.minLength(16, "Expected a token of at least 16 characters")),
  permissions: strings,
  accounts: v.optional(strings, () => ["*"]),
});

const jwt = v.strictObject({
  issuer: v.string(),
  jwksUrl: url,
  audience: v.union([v.string(), strings]),
  algorithms: v.optional(strings),
  claim: v.optional(v.string()),
  accountsClaim: v.optional(v.string()),
  map: v.optional(v.record(v.string(), strings)),
});

const gateway = v.strictObject({
  providers: v.optional(
    v.record(id, v.strictObject({ baseUrl: v.optional(url), apiKey: v.optional(secret) })),
  ),
  gateways: v.optional(
    v.record(
      id,
      v.strictObject({ authentication: v.optional(v.boolean()), tokens: v.optional(strings) }),
    ),
  ),
});

const rendering = v.strictObject({
  chromiumPath: v.optional(v.string()),
  endpoint: v.optional(url),
  allowHosts: v.optional(strings),
  maxConcurrency: v.optional(count),
  noSandbox: v.optional(v.boolean()),
});

const model = { baseUrl: url, model: v.string(), apiKey: v.optional(secret) };

const search = v.strictObject({
  embedder: v.optional(v.strictObject({ ...model, dimensions: count })),
  chatModel: v.optional(v.strictObject(model)),
});

const entity = v.variant("from", [
  v.strictObject({ from: v.literal("payload"), path: v.string() }),
  v.strictObject({ from: v.literal("header"), name: v.string() }),
  v.strictObject({ from: v.literal("path") }),
]);

const source = v.strictObject({
  scheme: v.string(),
  secret: v.optional(secret),
  header: v.optional(v.string()),
  entity: v.optional(entity),
  agent: v.optional(v.string()),
});

const webhooks = v.strictObject({
  sources: v.optional(v.record(id, source)),
  retention: v.optional(
    v.strictObject({ maxEvents: v.optional(v.nullable(count)), maxAgeDays: v.optional(v.nullable(count)) }),
  ),
  allowHosts: v.optional(strings),
});

const deprecations = v.strictObject({
  clock: v.optional(v.pipe(v.string(), v.isoTimestamp("Expected an ISO 8601 instant in UTC"))),
  mode: v.optional(v.picklist(["warn", "translate", "refuse", "strict", "off"])),
});

/**
 * The configuration file, the single source of its keys. Strings of the form `"env:NAME"` are read from the
 * environment before this schema sees them ({@link "./resolve-env.ts"}).
 */
export const configSchema = v.strictObject({
  $schema: v.optional(v.string()),
  accountId: v.optional(id),
  port: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65535))),
  host: v.optional(v.string()),
  dataDir: v.optional(v.string()),
  synchronous: v.optional(v.picklist(["FULL", "NORMAL"])),
  graceMs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  demo: v.optional(v.boolean()),
  tokens: v.optional(v.array(token)),
  jwt: v.optional(jwt),
  gateway: v.optional(gateway),
  rendering: v.optional(rendering),
  search: v.optional(search),
  webhooks: v.optional(webhooks),
  deprecations: v.optional(deprecations),
});

/** A checked configuration. */
export type Config = v.InferOutput<typeof configSchema>;
