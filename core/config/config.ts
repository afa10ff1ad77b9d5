import type { DeclaredKey } from "../gateway/settings/declared-gateways.ts";
import type { Value } from "../http/json.ts";
import type { DeclaredSettings } from "../gateway/settings/settings.ts";
import type { PriceRowSetting } from "../gateway/prices/price-rows.ts";

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

/** An issuer whose JSON Web Tokens are accepted. */
export interface JwtConfig {
  readonly issuer: string;
  readonly jwksUrl: string;
  readonly audience: string | readonly string[];
  readonly algorithms?: readonly string[];
  readonly claim?: string;
  readonly accountsClaim?: string;
  readonly map?: Readonly<Record<string, readonly string[]>>;
}

/** Providers by their path segment, gateways by their id, and the keys that seal stored secrets. */
export interface GatewayConfig {
  /** @default a key beside the data */
  readonly masterKey?: string;
  /** What these sealed still opens, and is sealed anew when it is used. */
  readonly formerMasterKeys?: readonly string[];
  /** `baseUrl` is what the provider's own SDK calls its base URL. */
  readonly providers?: Readonly<
    Record<
      string,
      { readonly baseUrl?: string; readonly apiKey?: string; readonly streamUsage?: boolean }
    >
  >;
  readonly gateways?: Readonly<Record<string, DeclaredGatewayConfig>>;
  /** The model that judges texts for gateways with guardrails. */
  readonly judge?: ModelConfig;
  /** Chooses the model of requests for `cloudflare/auto`: the cheapest that is able. @default none */
  readonly router?: RouterConfig;
  /** Lets clients take streams up again that broke off. @default off */
  readonly resume?: { readonly seconds?: number; readonly bytes?: number };
  /** Answers questions from the cache that were asked before in other words. @default off */
  readonly semanticCache?: SemanticCacheConfig;
  /** Seconds of silence after which a stream of server-sent events gets a comment. @default never */
  readonly sseKeepAliveSeconds?: number;
  /** Seconds within which a provider must begin to answer, where a request says nothing else. @default 600 */
  readonly firstByteSeconds?: number;
  /** Seconds that an answer which has begun may send nothing. @default 600 */
  readonly silenceSeconds?: number;
  /** The status of error 2005, no answer from a provider; the hosted service's is 400. @default 502 */
  readonly compat2005?: 400 | 502;
  /** Prices of models, over those that are built in. @default [] */
  readonly prices?: readonly PriceRowSetting[];
  /** Counts what gateways do, for Prometheus. @default as the platform's metrics */
  readonly metrics?: boolean;
  /** Bytes of answers that the cache of one process holds. @default 64 MiB */
  readonly cacheBytes?: number;
  /** Bytes of answers that each gateway's cache keeps in the database; 0 = none. @default 128 MiB */
  readonly storedCacheBytes?: number;
}

/** A gateway that exists from the start. */
export interface DeclaredGatewayConfig {
  /** @default true */
  readonly authentication?: boolean;
  /** Whether the operator's provider keys serve requests without a token. @default false */
  readonly storedKeysForAnonymous?: boolean;
  readonly tokens?: readonly string[];
  /** By the names of the management API, which then cannot change them. */
  readonly settings?: DeclaredSettings;
  /** Provider keys by path segment: one, or several by their aliases. */
  readonly keys?: Readonly<Record<string, DeclaredKey>>;
  /** Elements of dynamic routes by their names. */
  readonly routes?: Readonly<Record<string, Value>>;
}

/** Bounds of the semantic cache; its vectors are those of the search part's embedder. */
export interface SemanticCacheConfig {
  /** Cosine. */
  readonly threshold?: number;
  readonly maxEntries?: number;
  /** Characters. */
  readonly maxTextLength?: number;
  readonly maxMessages?: number;
  readonly timeoutMs?: number;
}

/** The models among which the automatic router chooses. */
export interface RouterConfig {
  readonly candidates: readonly {
    /** `{provider}/{model}`, or a Workers AI model (`@cf/…`). */
    readonly model: string;
    /** US dollars per million tokens. @default the table of published list prices */
    readonly price?: { readonly input: number; readonly output: number; readonly cached?: number };
    readonly contextTokens?: number;
    readonly lacks?: readonly ("tools" | "images" | "audio" | "files" | "json")[];
  }[];
  readonly sessions?: number;
  readonly sessionSeconds?: number;
}

/** The browser, and what pages may reach. */
export interface RenderingConfig {
  readonly chromiumPath?: string;
  /** A remote browser, `ws://…`. */
  readonly endpoint?: string;
  readonly allowHosts?: readonly string[];
  readonly maxConcurrency?: number;
  readonly pagesAhead?: number;
  readonly noSandbox?: boolean;
  readonly maxQueue?: number;
  readonly maxBodyBytes?: number;
  /** ms */
  readonly requestTimeout?: number;
  /** The largest timers of a caller, in ms. */
  readonly timeouts?: {
    readonly goto?: number;
    readonly selector?: number;
    readonly wait?: number;
    readonly action?: number;
  };
  readonly unsafeRegex?: boolean;
  readonly frontmatter?: boolean;
  /** Finds data in pages for `/json`; `timeoutSeconds` bounds each request. @default 60 */
  readonly chatModel?: SearchModelConfig;
}

/** An OpenAI-compatible model endpoint. */
export interface ModelConfig {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A model behind an endpoint, or behind a gateway of this program: one of the two is there. */
export interface SearchModelConfig extends Omit<ModelConfig, "baseUrl"> {
  readonly baseUrl?: string;
  /** Id of the gateway; `model` is then `{provider}/{model}`. */
  readonly gateway?: string;
  readonly timeoutSeconds?: number;
}

/** The models behind search. */
export interface SearchConfig {
  /** Reorders what was found, `POST {baseUrl}/rerank`; `timeoutSeconds` bounds each request. @default 10 */
  readonly reranker?: ModelConfig & { readonly timeoutSeconds?: number };
  /** `timeoutSeconds` bounds each request. @default 10 */
  readonly embedder?: SearchModelConfig & { readonly dimensions: number };
  /** `timeoutSeconds` bounds the wait for the answer to begin, and then to go on. @default 60 */
  readonly chatModel?: SearchModelConfig;
}

/** A secret, with the instant from which on it no longer counts. */
type SecretConfig = string | { readonly secret: string; readonly expiresAt?: string };

/** One sender of inbound webhooks; see `docs/webhooks.md`. */
export interface SourceConfig {
  readonly scheme: string;
  readonly secret?: string;
  readonly secrets?: readonly SecretConfig[];
  /** By name of the entity. */
  readonly entitySecrets?: Readonly<Record<string, SecretConfig | readonly SecretConfig[]>>;
  readonly respond?: "processed" | "queued";
  readonly toleranceSeconds?: number;
  readonly publicUrl?: string;
  readonly bodyDedupeSeconds?: number;
  readonly header?: string;
  /** Where the entity's id is. @default the scheme's own rule */
  readonly entity?:
    | { readonly from: "payload"; readonly path: string | readonly string[] }
    | { readonly from: "header"; readonly name: string }
    | { readonly from: "path" };
  /** Sources of one group share their entities. @default an entity belongs to the source that wrote to it first */
  readonly group?: string;
  /** Entities that are this source's before it has written to them. */
  readonly entities?: readonly string[];
  readonly formerNames?: readonly string[];
  /** The entity of events that name none. @default they are refused */
  readonly fallbackEntity?: string;
  /** Name of the agent class. @default "webhook-agent" */
  readonly agent?: string;
}

/** Inbound senders, how long events are kept, and what deliveries may reach. */
export interface WebhooksConfig {
  readonly sources?: Readonly<Record<string, SourceConfig>>;
  readonly retention?: {
    readonly maxEvents?: number | null;
    readonly maxAgeDays?: number | null;
    readonly deliveryDays?: number | null;
    readonly deadDeliveryDays?: number | null;
  };
  readonly allowHosts?: readonly string[];
  /** Seals the secrets of outbound endpoints in the database. */
  readonly masterSecret?: string;
}

/** Who may use agents from a page. */
export interface AgentsConfig {
  /** As browsers send them, e.g. `https://app.example`. */
  readonly origins?: readonly string[];
}

/** How retired API is treated. */
export interface DeprecationsConfig {
  /** The instant at which the table is read, ISO 8601. @default now */
  readonly clock?: string;
  readonly mode?: "warn" | "translate" | "refuse" | "strict" | "off";
}

/** A checked configuration; `docs/configuration.md` describes every key. */
export interface Config {
  readonly $schema?: string;
  readonly accountId?: string;
  /** What a proxy takes off the path of a request. @default "" */
  readonly mountPath?: string;
  readonly port?: number;
  readonly host?: string;
  readonly dataDir?: string;
  /** How many processes listen on the port; `"auto"` is one per core. */
  readonly processes?: number | "auto";
  readonly synchronous?: "FULL" | "NORMAL";
  /** Milliseconds. */
  readonly graceMs?: number;
  /** Bytes that request bodies may take in memory at once; processes share them. @default a quarter of the memory */
  readonly bodyBytes?: number;
  readonly demo?: boolean;
  /** How the log is written: a line for each request, and what the platform has to say. */
  readonly log?: "json" | "pretty" | "off";
  /** What is below it is left out. @default "info" */
  readonly logLevel?: "debug" | "info" | "warn" | "error";
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
