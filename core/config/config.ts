import * as v from "valibot";
import type { AgentsOptions } from "../agents/mod.ts";
import type { JwtOptions } from "../auth/mod.ts";
import type { DeprecationsOptions, EntrySettings, PerEntry } from "../deprecations/mod.ts";
import {
  dayOrInstant,
  entrySettingsSchema,
  pinDay,
  modeSchema,
} from "../deprecations/settings/settings-schema.ts";
import { didYouMean } from "../text/nearest.ts";
import { isMountPath } from "../http/mount-path.ts";
import { isOrigin } from "../net/public-url.ts";
import type { CrawlOptions, RenderingOptions } from "../rendering/mod.ts";
import type { BucketEndpoint, OpenAiEndpoint } from "../search/mod.ts";
import {
  anyCount,
  days,
  id,
  type Members,
  milliseconds,
  nonEmpty,
  pauseMs,
  positiveInteger,
  mebibyteOrMore,
  strings,
  url,
  origins,
} from "./fields.ts";
import { whole } from "../http/fields/bounded-number.ts";
import { type GatewayConfig, gatewayConfig } from "./gateway-config.ts";
import {
  chatModel,
  embedder,
  type EmbedderConfig,
  type PlacedModelConfig,
  timedModel,
} from "./model-config.ts";
import { type PartName, partNames } from "../signals/requests/route-template.ts";
import { type WebhooksConfig, webhooksConfig } from "./webhooks-config.ts";

/** A token of the configuration file. */
export interface TokenConfig {
  readonly token: string;
  /** Permission names; `"*"` is all of them. */
  readonly permissions: readonly string[];
  /** Account ids; `"*"` is all of them. @default ["*"] */
  readonly accounts: readonly string[];
  /** Ids of gateways: then the token is good for those alone. @default everything of the accounts */
  readonly gateways?: readonly string[];
}

const token = v.strictObject({
  token: v.pipe(v.string(), v.minLength(16, "expected a token of at least 16 characters")),
  permissions: strings,
  accounts: v.optional(strings, () => ["*"]),
  gateways: v.exactOptional(strings),
} satisfies Members<TokenConfig>);

/** An issuer whose JSON Web Tokens are accepted. */
export interface JwtConfig extends Omit<JwtOptions, "jwksUrl" | "jwks" | "accounts" | "tolerance"> {
  readonly jwksUrl: string;
}

const jwt = v.strictObject({
  issuer: v.string(),
  jwksUrl: url,
  audience: v.union([v.string(), strings]),
  algorithms: v.exactOptional(strings),
  claim: v.exactOptional(v.string()),
  accountsClaim: v.exactOptional(v.string()),
  map: v.exactOptional(v.record(v.string(), strings)),
} satisfies Members<JwtConfig>);

/** The browser, and what pages may reach. */
export interface RenderingConfig extends Omit<
  RenderingOptions,
  | "platform"
  | "auth"
  | "tracer"
  | "extract"
  | "readPdf"
  | "editPdf"
  | "mcp"
  | "markdownEngine"
  // They follow from the gateway's.
  | "masterSecret"
  | "formerMasterSecrets"
  | "customModel"
  | "chatTimeoutMs"
  | "chatModel"
> {
  readonly chromiumPath?: string;
  /** A remote browser, `ws://…`. */
  readonly endpoint?: string;
  readonly noSandbox?: boolean;
  /** Finds data in pages for `/json`; `timeoutSeconds` bounds each request. @default 60 */
  readonly chatModel?: PlacedModelConfig;
}

const endpoint = v.pipe(
  v.string(),
  v.url("expected an absolute URL"),
  v.regex(/^(?:https?|wss?):/i, "expected a ws, wss, http or https URL"),
);
const rendering = v.strictObject({
  chromiumPath: v.exactOptional(v.string()),
  endpoint: v.exactOptional(endpoint),
  allowHosts: v.exactOptional(strings),
  maxConcurrency: v.exactOptional(positiveInteger),
  pagesAhead: v.exactOptional(anyCount),
  pagesKept: v.exactOptional(anyCount),
  noSandbox: v.exactOptional(v.boolean()),
  maxQueue: v.exactOptional(anyCount),
  maxBodyBytes: v.exactOptional(positiveInteger),
  requestTimeout: v.exactOptional(milliseconds),
  timeouts: v.exactOptional(
    v.strictObject({
      goto: v.exactOptional(milliseconds),
      selector: v.exactOptional(milliseconds),
      wait: v.exactOptional(milliseconds),
      action: v.exactOptional(milliseconds),
    }),
  ),
  adLists: v.exactOptional(v.pipe(v.array(url), v.minLength(1, "expected at least one list"))),
  unsafeRegex: v.exactOptional(v.boolean()),
  frontmatter: v.exactOptional(v.boolean()),
  crawls: v.exactOptional(
    v.strictObject({
      maxRunning: v.exactOptional(positiveInteger),
      maxKept: v.exactOptional(positiveInteger),
      maxBytes: v.exactOptional(positiveInteger),
      keepDays: v.exactOptional(days),
      delayMs: v.exactOptional(pauseMs),
    } satisfies Members<CrawlOptions>),
  ),
  chatModel: v.exactOptional(chatModel),
} satisfies Members<RenderingConfig>);

/** The models behind search. */
export interface SearchConfig {
  /** Reorders findings by `POST {baseUrl}/rerank`; `timeoutSeconds` bounds each request. @default 10 */
  readonly reranker?: OpenAiEndpoint & { readonly timeoutSeconds?: number };
  /** `timeoutSeconds` bounds each request. @default 10 */
  readonly embedder?: EmbedderConfig;
  /** `timeoutSeconds` bounds the wait for the answer to begin, and then to go on. @default 60 */
  readonly chatModel?: PlacedModelConfig;
  /** A chat model that sees pictures; `timeoutSeconds` bounds each picture. @default pictures are not read */
  readonly ocr?: PlacedModelConfig;
  /** Bytes of memory for vectors. @default 512 MiB; 48 MiB on Workers */
  readonly vectorMemoryBytes?: number;
  /** The default endpoint of buckets, for instances that name none. */
  readonly bucket?: BucketEndpoint;
}

const search = v.strictObject({
  bucket: v.exactOptional(
    v.strictObject({
      endpoint: v.pipe(
        url,
        v.check((text) => /^[^/]+\/\/[^/]+\/?$/u.test(text), "expected an address without a path"),
      ),
      region: v.exactOptional(v.string()),
    } satisfies Members<BucketEndpoint>),
  ),
  embedder: v.exactOptional(embedder),
  chatModel: v.exactOptional(chatModel),
  reranker: v.exactOptional(timedModel),
  ocr: v.exactOptional(chatModel),
  vectorMemoryBytes: v.exactOptional(mebibyteOrMore),
} satisfies Members<SearchConfig>);

/** The origins of pages that may use agents. */
type AgentsConfig = Pick<AgentsOptions, "origins">;

const agents = v.strictObject({
  origins: v.exactOptional(origins),
} satisfies Members<AgentsConfig>);

/** The treatment of retired API. */
interface DeprecationsConfig extends Pick<DeprecationsOptions, "mode"> {
  /** The instant at which the table is read, RFC 3339. @default now */
  readonly clock?: string;
  /** By entry id or row. */
  readonly settings?: PerEntry<EntrySettings>;
  /** The day to which a client is pinned, by the id of its token. */
  readonly pins?: Readonly<Record<string, string>>;
}

const deprecations = v.strictObject({
  clock: v.exactOptional(dayOrInstant),
  mode: v.exactOptional(modeSchema),
  settings: v.exactOptional(v.record(v.string(), entrySettingsSchema)),
  pins: v.exactOptional(
    v.pipe(
      v.record(v.string(), pinDay),
      // Checked as a whole, because a message about one key would print it: it may be a token itself.
      v.check(
        (pins) => Object.keys(pins).every((key) => /^[\da-f]{32}$/u.test(key)),
        'expected ids of tokens, 32 digits as "causey token list" shows them',
      ),
    ),
  ),
} satisfies Members<DeprecationsConfig>);

const processes = v.union(
  [v.literal("auto"), whole(1, 64)],
  'expected "auto" or an integer from 1 to 64',
);

/** A checked configuration; `docs/configuration.md` describes every key. */
export interface Config {
  readonly $schema?: string;
  readonly accountId?: string;
  /** The path prefix that a proxy removes from requests. @default "" */
  readonly mountPath?: string;
  /** The origin under which clients reach the server. @default not known: addresses in answers are paths */
  readonly publicUrl?: string;
  /** The number of proxies before the server that append to `X-Forwarded-For`. @default 0 */
  readonly proxies?: number;
  readonly port?: number;
  readonly host?: string;
  readonly dataDir?: string;
  /** The address of a PostgreSQL database, which may hold a password. @default SQLite in `dataDir` */
  readonly database?: string;
  readonly cluster?: ClusterConfig;
  /** The number of processes that listen on the port; `"auto"` is one per core. */
  readonly processes?: number | "auto";
  readonly synchronous?: "FULL" | "NORMAL";
  /** Milliseconds. */
  readonly graceMs?: number;
  /** Bytes that request bodies may take in memory at once; processes share them. @default a quarter of the memory */
  readonly bodyBytes?: number;
  readonly demo?: boolean;
  /** The format of the log: a line for each request, and the platform's messages. */
  readonly log?: "json" | "pretty" | "off";
  /** The lowest level that is logged. @default "info" */
  readonly logLevel?: "debug" | "info" | "warn" | "error";
  /** Parts of which the log also has the spans, and every line of any level. @default [] */
  readonly debug?: readonly PartName[];
  /** Counts requests, for `/metrics`. @default true */
  readonly metrics?: boolean;
  /** Serves the description of the API. @default true */
  readonly openApi?: boolean;
  /** Serves the web console. @default true */
  readonly console?: boolean;
  readonly tokens?: readonly TokenConfig[];
  readonly jwt?: JwtConfig;
  readonly gateway?: GatewayConfig;
  readonly rendering?: RenderingConfig;
  readonly search?: SearchConfig;
  readonly webhooks?: WebhooksConfig;
  readonly agents?: AgentsConfig;
  readonly deprecations?: DeprecationsConfig;
}

/** How the servers that share a database call each other. */
export interface ClusterConfig {
  /** The `host:port` at which this server listens for the others. @default this machine alone, any free port */
  readonly listen?: string;
  /** The host by which the others reach it. @default that of `listen` */
  readonly advertise?: string;
  /** The secret that signs their calls. @default a random one in the database */
  readonly secret?: string;
  /** How long a server that does not answer keeps its objects, in ms. @default 10000 */
  readonly leaseMs?: number;
}

function unknownPart({ input }: v.PicklistIssue): string {
  return `expected one of ${partNames.join(", ")}${didYouMean(String(input), partNames)}`;
}

/**
 * The configuration file. Strings of the form `"env:NAME"` are read from the environment before this schema sees them
 * (`resolve-env.ts`).
 */
export const configSchema: v.GenericSchema<unknown, Config> = v.strictObject({
  $schema: v.exactOptional(v.string()),
  accountId: v.exactOptional(id),
  mountPath: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(isMountPath, 'expected a path such as "/platform", without a slash at its end'),
    ),
  ),
  publicUrl: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(isOrigin, 'expected an origin such as "https://ai.example.com", without a path'),
    ),
  ),
  proxies: v.exactOptional(whole(0, 10)),
  port: v.exactOptional(whole(0, 65_535)),
  host: v.exactOptional(nonEmpty),
  dataDir: v.exactOptional(nonEmpty),
  database: v.exactOptional(
    v.pipe(
      v.string(),
      v.regex(
        /^postgres(?:ql)?:\/\//u,
        'expected an address such as "postgres://user:password@host:5432/database"',
      ),
    ),
  ),
  cluster: v.exactOptional(
    v.strictObject({
      listen: v.exactOptional(
        v.pipe(
          v.string(),
          v.regex(
            /^(?:\[[\da-f:.]+\]|[^\s:/]+):\d{1,5}$/iu,
            'expected host and port, such as "10.0.0.5:8788" or "[::1]:8788"',
          ),
        ),
      ),
      advertise: v.exactOptional(
        v.pipe(
          v.string(),
          v.regex(/^[^\s/]+$/u, 'expected a host without its port, such as "10.0.0.5"'),
        ),
      ),
      secret: v.exactOptional(v.pipe(v.string(), v.minLength(16), v.maxLength(512))),
      leaseMs: v.exactOptional(whole(1000, 600_000)),
    }),
  ),
  processes: v.exactOptional(processes),
  synchronous: v.exactOptional(v.picklist(["FULL", "NORMAL"])),
  bodyBytes: v.exactOptional(mebibyteOrMore),
  graceMs: v.exactOptional(pauseMs),
  demo: v.exactOptional(v.boolean()),
  log: v.exactOptional(v.picklist(["json", "pretty", "off"])),
  logLevel: v.exactOptional(v.picklist(["debug", "info", "warn", "error"])),
  debug: v.exactOptional(v.array(v.picklist(partNames, unknownPart))),
  metrics: v.exactOptional(v.boolean()),
  openApi: v.exactOptional(v.boolean()),
  console: v.exactOptional(v.boolean()),
  tokens: v.exactOptional(v.array(token)),
  jwt: v.exactOptional(jwt),
  gateway: v.exactOptional(gatewayConfig),
  rendering: v.exactOptional(rendering),
  search: v.exactOptional(search),
  webhooks: v.exactOptional(webhooksConfig),
  agents: v.exactOptional(agents),
  deprecations: v.exactOptional(deprecations),
} satisfies Members<Config>);
