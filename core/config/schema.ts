import * as v from "valibot";
import { providerProblem } from "../gateway/providers/check-providers.ts";
import { priceRows } from "../gateway/prices/price-rows.ts";
import { elementList } from "../gateway/manage/dynamic-route.ts";
import { gatewayDeclared } from "../gateway/settings/settings.ts";
import { parseInstant } from "../http/instant.ts";
import { isMountPath } from "../http/mount-path.ts";
import type { Config } from "./config.ts";

const url = v.pipe(
  v.string(),
  v.url("Expected an absolute URL"),
  v.regex(/^https?:/i, "Expected an http or https URL"),
);
const endpoint = v.pipe(
  v.string(),
  v.url("Expected an absolute URL"),
  v.regex(/^(?:https?|wss?):/i, "Expected a ws, wss, http or https URL"),
);
const id = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected 1 to 64 of A-Z, a-z, 0-9, _ and -"),
);
const strings = v.array(v.pipe(v.string(), v.minLength(1)));
const count = v.pipe(v.number(), v.integer(), v.minValue(1));
/** A number of bytes that has room for an answer. */
const roomy = v.pipe(v.number(), v.integer(), v.minValue(1024 * 1024, "Expected at least 1048576"));
/** An empty host would be every network, an empty folder the current one. */
const named = v.pipe(v.string(), v.minLength(1, "Expected a name, got an empty string"));
/** A credential that is sent in a header: a line break behind it, as files have, would make every request fail. */
const headerSecret = v.pipe(
  v.string(),
  v.regex(
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
    "Expected printable ASCII without blanks at its ends",
  ),
);
const secret = v.pipe(v.string(), v.minLength(1, "Expected a secret, got an empty string"));

const token = v.strictObject({
  token: v.pipe(v.string(), v.minLength(16, "Expected a token of at least 16 characters")),
  permissions: strings,
  accounts: v.optional(strings, () => ["*"]),
  gateways: v.exactOptional(strings),
});

const jwt = v.strictObject({
  issuer: v.string(),
  jwksUrl: url,
  audience: v.union([v.string(), strings]),
  algorithms: v.exactOptional(strings),
  claim: v.exactOptional(v.string()),
  accountsClaim: v.exactOptional(v.string()),
  map: v.exactOptional(v.record(v.string(), strings)),
});

const masterKey = v.pipe(
  v.string(),
  v.minLength(16, "Expected a master key of at least 16 characters"),
);

const headerName = v.pipe(
  v.string(),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "Expected the name of a header"),
);

const model = {
  baseUrl: url,
  model: v.string(),
  apiKey: v.exactOptional(headerSecret),
  headers: v.exactOptional(v.record(headerName, headerSecret)),
};

const positive = v.pipe(v.number(), v.gtValue(0, "Expected a number above 0"));

const timeoutSeconds = v.exactOptional(
  v.pipe(v.number(), v.minValue(0.001), v.maxValue(3600, "Expected at most 3600 seconds")),
);

const usd = v.pipe(v.number(), v.minValue(0));

const router = v.strictObject({
  candidates: v.pipe(
    v.array(
      v.strictObject({
        model: named,
        price: v.exactOptional(
          v.strictObject({ input: usd, output: usd, cached: v.exactOptional(usd) }),
        ),
        contextTokens: v.exactOptional(count),
        lacks: v.exactOptional(v.array(v.picklist(["tools", "images", "audio", "files", "json"]))),
      }),
    ),
    v.minLength(1, "Expected at least one model"),
  ),
  sessions: v.exactOptional(count),
  sessionSeconds: v.exactOptional(positive),
});

const semanticCache = v.strictObject({
  threshold: v.exactOptional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  maxEntries: v.exactOptional(v.pipe(count, v.maxValue(10_000))),
  maxTextLength: v.exactOptional(v.pipe(count, v.maxValue(10_000))),
  maxMessages: v.exactOptional(v.pipe(count, v.maxValue(1000))),
  timeoutMs: v.exactOptional(v.pipe(count, v.maxValue(60_000))),
});

const gateway = v.strictObject({
  semanticCache: v.exactOptional(semanticCache),
  router: v.exactOptional(router),
  resume: v.exactOptional(
    v.strictObject({ seconds: v.exactOptional(positive), bytes: v.exactOptional(positive) }),
  ),
  sseKeepAliveSeconds: v.exactOptional(positive),
  firstByteSeconds: v.exactOptional(positive),
  silenceSeconds: v.exactOptional(positive),
  cacheBytes: v.exactOptional(roomy),
  storedCacheBytes: v.exactOptional(
    v.pipe(
      v.number(),
      v.integer(),
      v.check((bytes) => bytes === 0 || bytes >= 1024 * 1024, "Expected 0 or at least 1048576"),
    ),
  ),
  compat2005: v.exactOptional(v.picklist([400, 502])),
  metrics: v.exactOptional(v.boolean()),
  prices: v.exactOptional(priceRows),
  judge: v.exactOptional(v.strictObject(model)),
  masterKey: v.exactOptional(masterKey),
  formerMasterKeys: v.exactOptional(v.array(masterKey)),
  providers: v.exactOptional(
    v.pipe(
      v.record(
        id,
        v.strictObject({
          baseUrl: v.exactOptional(url),
          apiKey: v.exactOptional(headerSecret),
          streamUsage: v.exactOptional(v.boolean()),
        }),
      ),
      v.rawCheck(({ dataset, addIssue }) => {
        if (!dataset.typed) return;
        for (const [key, value] of Object.entries(dataset.value)) {
          const message = providerProblem(key, value);
          const input = dataset.value;
          if (message !== null)
            addIssue({ message, path: [{ type: "object", origin: "value", input, key, value }] });
        }
      }),
    ),
  ),
  gateways: v.exactOptional(
    v.record(
      id,
      v.strictObject({
        authentication: v.exactOptional(v.boolean()),
        storedKeysForAnonymous: v.exactOptional(v.boolean()),
        tokens: v.exactOptional(strings),
        settings: v.exactOptional(gatewayDeclared),
        keys: v.exactOptional(v.record(id, v.union([secret, v.record(id, secret)]))),
        routes: v.exactOptional(v.record(named, elementList)),
      }),
    ),
  ),
});

const searchModel = {
  ...model,
  baseUrl: v.exactOptional(url),
  gateway: v.exactOptional(id),
  timeoutSeconds,
};

interface Place {
  readonly baseUrl?: string;
  readonly gateway?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly model: string;
}

/** What is wrong with where a model is; null when nothing is. */
function placeProblem({
  apiKey,
  baseUrl,
  gateway: behind,
  headers,
  model: name,
}: Place): string | null {
  if ((baseUrl === undefined) === (behind === undefined))
    return "Expected baseUrl, or the id of a gateway";
  if (behind === undefined) return null;
  if ((apiKey ?? headers) !== undefined)
    return "A gateway has keys of its own: expected neither apiKey nor headers beside it";
  return /^[^/]+\/./u.test(name)
    ? null
    : "Expected {provider}/{model} for a model behind a gateway";
}

const chatModel = v.pipe(
  v.strictObject(searchModel),
  v.check(
    (one) => placeProblem(one) === null,
    ({ input }) => placeProblem(input) ?? "",
  ),
);

const rendering = v.strictObject({
  chromiumPath: v.exactOptional(v.string()),
  endpoint: v.exactOptional(endpoint),
  allowHosts: v.exactOptional(strings),
  maxConcurrency: v.exactOptional(count),
  pagesAhead: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  noSandbox: v.exactOptional(v.boolean()),
  maxQueue: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  maxBodyBytes: v.exactOptional(count),
  requestTimeout: v.exactOptional(count),
  timeouts: v.exactOptional(
    v.strictObject({
      goto: v.exactOptional(count),
      selector: v.exactOptional(count),
      wait: v.exactOptional(count),
      action: v.exactOptional(count),
    }),
  ),
  unsafeRegex: v.exactOptional(v.boolean()),
  frontmatter: v.exactOptional(v.boolean()),
  chatModel: v.exactOptional(chatModel),
});

const search = v.strictObject({
  embedder: v.exactOptional(
    v.pipe(
      v.strictObject({ ...searchModel, dimensions: count }),
      v.check(
        (one) => placeProblem(one) === null,
        ({ input }) => placeProblem(input) ?? "",
      ),
    ),
  ),
  chatModel: v.exactOptional(chatModel),
  reranker: v.exactOptional(v.strictObject({ ...model, timeoutSeconds })),
});

const entity = v.variant("from", [
  v.strictObject({
    from: v.literal("payload"),
    path: v.union([v.string(), v.pipe(v.array(v.string()), v.minLength(1))]),
  }),
  v.strictObject({ from: v.literal("header"), name: v.string() }),
  v.strictObject({ from: v.literal("path") }),
]);

const instant = v.pipe(
  v.string(),
  v.check((text) => parseInstant(text) !== null, "Expected an RFC 3339 instant with its zone"),
);
const expiring = v.union([secret, v.strictObject({ secret, expiresAt: v.exactOptional(instant) })]);
const seconds = v.pipe(v.number(), v.integer(), v.minValue(0));

const source = v.strictObject({
  scheme: v.string(),
  secret: v.exactOptional(secret),
  secrets: v.exactOptional(v.array(expiring)),
  entitySecrets: v.exactOptional(v.record(v.string(), v.union([expiring, v.array(expiring)]))),
  respond: v.exactOptional(v.picklist(["processed", "queued"])),
  toleranceSeconds: v.exactOptional(seconds),
  publicUrl: v.exactOptional(url),
  bodyDedupeSeconds: v.exactOptional(seconds),
  header: v.exactOptional(v.string()),
  entity: v.exactOptional(entity),
  fallbackEntity: v.exactOptional(v.string()),
  group: v.exactOptional(v.string()),
  entities: v.exactOptional(strings),
  formerNames: v.exactOptional(strings),
  agent: v.exactOptional(v.string()),
});

const webhooks = v.strictObject({
  sources: v.exactOptional(v.record(id, source)),
  retention: v.exactOptional(
    v.strictObject({
      maxEvents: v.exactOptional(v.nullable(count)),
      maxAgeDays: v.exactOptional(v.nullable(count)),
      deliveryDays: v.exactOptional(v.nullable(count)),
      deadDeliveryDays: v.exactOptional(v.nullable(count)),
    }),
  ),
  allowHosts: v.exactOptional(strings),
  masterSecret: v.exactOptional(
    v.pipe(v.string(), v.minLength(16, "Expected a secret of at least 16 characters")),
  ),
});

const agents = v.strictObject({
  origins: v.exactOptional(
    v.array(
      v.pipe(
        v.string(),
        v.check(
          (text) => URL.parse(text)?.origin === text,
          "Expected an origin: https://app.example",
        ),
      ),
    ),
  ),
});

const deprecations = v.strictObject({
  clock: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(
        (text) => parseInstant(text) !== null,
        "Expected a day (YYYY-MM-DD) or an RFC 3339 instant with its zone",
      ),
    ),
  ),
  mode: v.exactOptional(v.picklist(["warn", "translate", "refuse", "strict", "off"])),
});

const processes = v.union(
  [v.literal("auto"), v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(64))],
  'Expected "auto" or an integer from 1 to 64',
);

/**
 * The configuration file, the single source of its keys. Strings of the form `"env:NAME"` are read from the
 * environment before this schema sees them (`resolve-env.ts`).
 */
export const configSchema: v.GenericSchema<unknown, Config> = v.strictObject({
  $schema: v.exactOptional(v.string()),
  accountId: v.exactOptional(id),
  mountPath: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(isMountPath, 'Expected a path such as "/platform", without a slash at its end'),
    ),
  ),
  port: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65535))),
  host: v.exactOptional(named),
  dataDir: v.exactOptional(named),
  processes: v.exactOptional(processes),
  synchronous: v.exactOptional(v.picklist(["FULL", "NORMAL"])),
  bodyBytes: v.exactOptional(roomy),
  graceMs: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  demo: v.exactOptional(v.boolean()),
  log: v.exactOptional(v.picklist(["json", "pretty", "off"])),
  logLevel: v.exactOptional(v.picklist(["debug", "info", "warn", "error"])),
  metrics: v.exactOptional(v.boolean()),
  openApi: v.exactOptional(v.boolean()),
  console: v.exactOptional(v.boolean()),
  tokens: v.exactOptional(v.array(token)),
  jwt: v.exactOptional(jwt),
  gateway: v.exactOptional(gateway),
  rendering: v.exactOptional(rendering),
  search: v.exactOptional(search),
  webhooks: v.exactOptional(webhooks),
  agents: v.exactOptional(agents),
  deprecations: v.exactOptional(deprecations),
});
