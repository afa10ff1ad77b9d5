import * as v from "valibot";
import { between, MOST_USD } from "../http/fields/bounded-number.ts";
import type { GatewayOptions, ModelRouter } from "../gateway/mod.ts";
import { declaredTeams, declaredVirtualKeys } from "../gateway/account/keys/declared-keys.ts";
import { elementList } from "../gateway/manage/dynamic-route.ts";
import { priceRows } from "../gateway/prices/price-rows.ts";
import type { HttpCheckerOptions } from "../gateway/guard/checkers/http-checker.ts";
import type { ResumeOptions } from "../gateway/resume/mod.ts";
import type { SemanticCacheOptions } from "../gateway/semantic-cache/mod.ts";
import { providerProblem } from "../gateway/providers/configured/check-providers.ts";
import { declaredModels } from "../gateway/account/settings/declared-models.ts";
import { gatewayDeclared } from "../gateway/account/settings/settings.ts";
import type {
  GatewayProviderOptions,
  ProviderOptions,
} from "../gateway/account/settings/provider-options.ts";
import type { OpenAiEndpoint } from "../search/mod.ts";
import {
  positiveInteger,
  id,
  type Members,
  nonEmpty,
  origins,
  positive,
  mebibyteOrMore,
  secretText,
  strings,
  url,
} from "./fields.ts";
import { endpointModel, headerSecret, sentHeaders } from "./model-config.ts";

/**
 * The gateway's options, except for those that the platform gives, that are code, or that have another form in the
 * file.
 */
export interface GatewayConfig extends Omit<
  GatewayOptions,
  | "platform"
  | "auth"
  | "accountId"
  | "mountPath"
  | "publicUrl"
  | "demo"
  | "accessLog"
  | "sendsWebhooks"
  | "logBodyLimit"
  | "checkers"
  | "judgeModel"
  | "spans"
  | "judge"
  | "router"
  | "semanticCache"
  | "resume"
> {
  /** The model that judges texts for gateways with guardrails. */
  readonly judge?: OpenAiEndpoint;
  /** DLP profiles of servers that check texts, by their names. @default {} */
  readonly checkers?: Readonly<Record<string, HttpCheckerOptions>>;
  /** Chooses the model of requests for `cloudflare/auto`: the cheapest suitable one. @default off */
  readonly router?: RouterConfig;
  /** Bounds of the semantic cache; its vectors are those of the search part's embedder. @default off */
  readonly semanticCache?: SemanticCacheConfig;
  /** Lets clients take streams up again that broke off on the way to them. @default off */
  readonly resume?: ResumeOptions;
}

type RouterConfig = Omit<ModelRouter, "choose" | "timeoutMs" | "onFailure">;

type SemanticCacheConfig = Omit<SemanticCacheOptions, "embed">;

const masterKey = v.pipe(
  v.string(),
  v.minLength(16, "expected a master key of at least 16 characters"),
);

const usd = between(0, MOST_USD);

const router = v.strictObject({
  candidates: v.pipe(
    v.array(
      v.strictObject({
        model: nonEmpty,
        price: v.exactOptional(
          v.strictObject({ input: usd, output: usd, cached: v.exactOptional(usd) }),
        ),
        contextTokens: v.exactOptional(positiveInteger),
        lacks: v.exactOptional(v.array(v.picklist(["tools", "images", "audio", "files", "json"]))),
      }),
    ),
    v.minLength(1, "expected at least one model"),
  ),
  sessions: v.exactOptional(positiveInteger),
  sessionSeconds: v.exactOptional(positive),
} satisfies Members<RouterConfig>);

const semanticCache = v.strictObject({
  threshold: v.exactOptional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  maxEntries: v.exactOptional(v.pipe(positiveInteger, v.maxValue(10_000))),
  maxTextLength: v.exactOptional(v.pipe(positiveInteger, v.maxValue(10_000))),
  maxMessages: v.exactOptional(v.pipe(positiveInteger, v.maxValue(1000))),
  timeoutMs: v.exactOptional(v.pipe(positiveInteger, v.maxValue(60_000))),
} satisfies Members<SemanticCacheConfig>);

const checker = v.strictObject({
  url,
  headers: v.exactOptional(sentHeaders),
  on: v.exactOptional(
    v.pipe(
      v.array(v.picklist(["request", "response"])),
      v.minLength(1, 'expected "request", "response" or both'),
    ),
  ),
  timeoutMs: v.exactOptional(v.pipe(positiveInteger, v.maxValue(60_000))),
  onFailure: v.exactOptional(v.picklist(["block", "allow"])),
} satisfies Members<HttpCheckerOptions>);

const gatewayProvider = {
  baseUrl: v.exactOptional(url),
  apiKey: v.exactOptional(headerSecret),
  streamUsage: v.exactOptional(v.boolean()),
  speaks: v.exactOptional(v.array(v.picklist(["chat", "responses", "messages"]))),
  resource: v.exactOptional(nonEmpty),
  apiVersion: v.exactOptional(nonEmpty),
  tenantId: v.exactOptional(secretText),
  clientId: v.exactOptional(secretText),
  clientSecret: v.exactOptional(secretText),
  project: v.exactOptional(nonEmpty),
  region: v.exactOptional(nonEmpty),
  serviceAccount: v.exactOptional(secretText),
  accessKeyId: v.exactOptional(secretText),
  secretAccessKey: v.exactOptional(secretText),
  sessionToken: v.exactOptional(secretText),
} satisfies Members<GatewayProviderOptions>;

/** Returns a schema of providers by their path segment. */
function providersOf<T extends v.GenericSchema<unknown, ProviderOptions>>(
  provider: T,
): v.GenericSchema<unknown, Record<string, v.InferOutput<T>>> {
  return v.pipe(
    v.record(id, provider),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      for (const [key, value] of Object.entries(dataset.value)) {
        const message = providerProblem(key, value);
        const input = dataset.value;
        if (message !== null)
          addIssue({ message, path: [{ type: "object", origin: "value", input, key, value }] });
      }
    }),
  );
}

/** Providers by their path segment, gateways by their id, and what belongs to all of them. */
export const gatewayConfig: v.GenericSchema<unknown, GatewayConfig> = v.strictObject({
  semanticCache: v.exactOptional(semanticCache),
  router: v.exactOptional(router),
  resume: v.exactOptional(
    v.strictObject({ seconds: v.exactOptional(positive), bytes: v.exactOptional(positive) }),
  ),
  sseKeepAliveSeconds: v.exactOptional(positive),
  firstByteSeconds: v.exactOptional(positive),
  silenceSeconds: v.exactOptional(positive),
  cacheBytes: v.exactOptional(mebibyteOrMore),
  storedCacheBytes: v.exactOptional(
    v.pipe(
      v.number(),
      v.integer(),
      v.check((bytes) => bytes === 0 || bytes >= 1024 * 1024, "expected 0 or at least 1048576"),
    ),
  ),
  compat2005: v.exactOptional(v.picklist([400, 502])),
  metrics: v.exactOptional(v.boolean()),
  origins: v.exactOptional(origins),
  prices: v.exactOptional(priceRows),
  judge: v.exactOptional(endpointModel),
  checkers: v.exactOptional(v.record(id, checker)),
  masterKey: v.exactOptional(masterKey),
  formerMasterKeys: v.exactOptional(v.array(masterKey)),
  providers: v.exactOptional(
    providersOf(
      v.strictObject({
        ...gatewayProvider,
        free: v.exactOptional(v.boolean()),
      } satisfies Members<ProviderOptions>),
    ),
  ),
  teams: v.exactOptional(declaredTeams),
  virtualKeys: v.exactOptional(declaredVirtualKeys),
  gateways: v.exactOptional(
    v.record(
      id,
      v.strictObject({
        authentication: v.exactOptional(v.boolean()),
        storedKeysForAnonymous: v.exactOptional(v.boolean()),
        tokens: v.exactOptional(strings),
        settings: v.exactOptional(gatewayDeclared),
        keys: v.exactOptional(v.record(id, v.union([secretText, v.record(id, secretText)]))),
        providers: v.exactOptional(providersOf(v.strictObject(gatewayProvider))),
        models: v.exactOptional(declaredModels),
        routes: v.exactOptional(v.record(nonEmpty, elementList)),
      } satisfies Members<NonNullable<GatewayOptions["gateways"]>[string]>),
    ),
  ),
} satisfies Members<GatewayConfig>);
