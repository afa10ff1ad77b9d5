import { misfitText } from "../../http/fields/misfit.ts";
import type { DeclaredKeys } from "../account/keys/declared-keys.ts";
import * as v from "valibot";
import type { Auth } from "../../auth/authorize.ts";
import { invalidOptions } from "../../http/api-error.ts";
import type { AnswerSilence, Log, Platform } from "../../ports.ts";
import { answerSilence } from "./silence.ts";
import { providerProblem } from "../providers/configured/check-providers.ts";
import { freeProviders } from "../providers/configured/configured-targets.ts";
import type { DeclaredGateway } from "../account/settings/declared-gateways.ts";
import type { OwnPrices } from "../prices/price-book.ts";
import { priceRows, type PriceRowSetting } from "../prices/price-rows.ts";
import { type SafetyOptions, dlpProblem } from "../guard/checkers/policies.ts";
import { vault, type Vault } from "../account/records/vault.ts";
import type { ModelRouter } from "../routing/router/model-router.ts";
import type { SemanticCacheFactory } from "../cache/similar-answers.ts";
import type { ResumableRunsFactory } from "./resume-run.ts";
import type { ProviderOptions } from "../account/settings/provider-options.ts";
import { didYouMean } from "../../text/nearest.ts";
import { noSuchProvider, spendProviders } from "../metering/spend/spend-providers.ts";
import type { SpanExporter } from "../observe/trace/span.ts";
import { readGraph } from "../routing/dynamic/graph.ts";
import { providers as builtIn } from "../providers/known/table.ts";
import { isCustomSegment } from "../providers/target.ts";
import { declaredModels } from "../account/settings/declared-models.ts";
import { poolProblem } from "../routing/pools/model-pools.ts";
import { gatewayDeclared } from "../account/settings/settings.ts";

/** Options of `gateway()` and `gatewayManagement()`. */
export interface GatewayOptions extends SafetyOptions {
  readonly platform: Platform;
  /** Authenticates callers; `"off"` leaves that to the host app. @default storedTokens(platform) */
  readonly auth?: Auth | undefined;
  /** Addresses and keys of providers, by their path segments, `custom-…` included. @default {} */
  readonly providers?: Readonly<Record<string, ProviderOptions>> | undefined;
  /** Gateways that exist from the start. @default {} */
  readonly gateways?: Readonly<Record<string, DeclaredGateway>> | undefined;
  /**
   * Teams by their ids, with the settings of the management API. They belong to `accountId` (else "local"), and the API
   * cannot change them. @default {}
   */
  readonly teams?: DeclaredKeys["teams"];
  /** Virtual keys by their ids, each with its secret. The API cannot change them. @default {} */
  readonly virtualKeys?: DeclaredKeys["virtualKeys"];
  /** The account in which declared gateways exist. @default every account */
  readonly accountId?: string | undefined;
  /** Whether the demo provider `echo` exists. @default true */
  readonly demo?: boolean | undefined;
  /** Bytes of each body that a log row keeps. @default 960 KiB: a row of Durable Object storage holds 2 MB */
  readonly logBodyLimit?: number | undefined;
  /** Bytes of answers that the cache of this process holds. @default 64 MiB */
  readonly cacheBytes?: number | undefined;
  /**
   * Bytes of answers up to 1 MiB each that a gateway's cache also keeps in its database, for restarts and for other
   * processes and isolates; 0 = it stores no answers. @default 128 MiB
   */
  readonly storedCacheBytes?: number | undefined;
  /**
   * Answers questions from the cache that were asked before in other words, where the cache is on: `semanticCache()` of
   * `causey/gateway/semantic-cache`. @default off
   */
  readonly semanticCache?: SemanticCacheFactory | undefined;
  /**
   * Seals the provider keys and headers that the management API stores; at least 16 characters.
   * @default a key beside the data, which guards copies of single rows only
   */
  readonly masterKey?: string | undefined;
  /**
   * Former master keys: secrets sealed by them still open, and are sealed with the present key when they are used. @default
   * []
   */
  readonly formerMasterKeys?: readonly string[] | undefined;
  /** Status of error 2005; the hosted service answers 400, which clients never retry. @default 502 */
  readonly compat2005?: 502 | 400 | undefined;
  /** Chooses the model of requests for `cloudflare/auto`. @default none: such requests are a 400 */
  readonly router?: ModelRouter | undefined;
  /**
   * Lets clients resume streams that broke off on the way to them: `resumableStreams()` of `causey/gateway/resume`. The
   * stream is then kept in memory, and the provider's request goes on after its client has left. @default off
   */
  readonly resume?: ResumableRunsFactory | undefined;
  /** Seconds of silence after which a stream of server-sent events gets a comment. @default never */
  readonly sseKeepAliveSeconds?: number | undefined;
  /**
   * Seconds within which a provider must begin to answer each attempt; `cf-aig-request-timeout` outranks this.
   * @default 600
   */
  readonly firstByteSeconds?: number | undefined;
  /**
   * Seconds for which an answer that has begun may send nothing; then it breaks off. A stream of server-sent events first
   * gets an event that says so.
   * @default 600
   */
  readonly silenceSeconds?: number | undefined;
  /** Prices of models, which outrank the built-in prices. @default [] */
  readonly prices?: readonly PriceRowSetting[] | undefined;
  /**
   * The path prefix that a host or a proxy removes before this app sees the request; addresses in answers include it.
   * @default ""
   */
  readonly mountPath?: string | undefined;
  /** The origin under which clients reach the server, for addresses in answers. @default the origin of a request to `localhost`; other requests get paths */
  readonly publicUrl?: string | undefined;
  /**
   * Origins whose pages may use the gateway, such as `https://app.example`: over HTTP by CORS, and by WebSockets.
   * @default WebSockets from all, HTTP from none
   */
  readonly origins?: readonly string[] | undefined;
  /** Counts what gateways do, for Prometheus, at `/accounts/:account_id/ai-gateway/metrics`. @default false */
  readonly metrics?: boolean | undefined;
  /** Whether answers report their size and their log row to an access log around the app. @default false */
  readonly accessLog?: boolean | undefined;
  /**
   * Sends a webhook to the account's endpoints when 50, 80 or 100 % of a budget is used; needs `webhooksManagement()`.
   * @default false
   */
  readonly sendsWebhooks?: boolean | undefined;
  /** Exports the spans of every gateway, without prompts and answers. @default spans are not exported */
  readonly spans?: SpanExporter | undefined;
}

/** Makes the vault of the options' master keys; throws `invalid_options` for a short one. */
export function gatewayVault({
  platform,
  masterKey,
  formerMasterKeys = [],
}: GatewayOptions): Vault {
  const keys = [...(masterKey === undefined ? [] : [masterKey]), ...formerMasterKeys];
  if (keys.some(({ length }) => length < 16)) {
    throw invalidOptions("A master key has at least 16 characters");
  }
  return vault(keys, platform.system);
}

/** Warns once of each encoding; a provider names it, so there are only so many. */
export function unreadable(log: Log): (encoding: string) => void {
  const known = new Set<string>();
  return (encoding) => {
    if (known.has(encoding) || known.size >= 16) return;
    known.add(encoding);
    log(
      "warn",
      "Answers in an encoding that this runtime cannot read: their usage is not counted",
      {
        encoding: encoding.slice(0, 32),
      },
    );
  };
}

/** Returns the prices of the options; throws `invalid_options` for an invalid one. */
export function ownPrices({
  prices = [],
  ...options
}: GatewayOptions): Pick<OwnPrices, "file" | "free"> {
  const { success, issues } = v.safeParse(priceRows, prices);
  if (success) return { file: prices, free: freeProviders(options) };
  throw invalidOptions(misfitText(issues, { within: "prices" }));
}

/** In milliseconds. */
interface WaitLimits {
  readonly keepAliveMs: number | undefined;
  readonly firstByteMs: number;
  readonly silence: AnswerSilence;
}

/** Returns how long to wait for a provider and for a silent stream; throws `invalid_options` for no time at all. */
export function waitLimits(options: GatewayOptions): WaitLimits {
  const { sseKeepAliveSeconds: silent, firstByteSeconds = 600, silenceSeconds = 600 } = options;
  return {
    keepAliveMs: silent === undefined ? undefined : milliseconds("sseKeepAliveSeconds", silent),
    firstByteMs: milliseconds("firstByteSeconds", firstByteSeconds),
    silence: answerSilence(milliseconds("silenceSeconds", silenceSeconds)),
  };
}

function milliseconds(name: string, seconds: number): number {
  if (seconds > 0) return seconds * 1000;
  throw invalidOptions(`${name}: expected a number above 0, got ${seconds}`);
}

/** Throws `invalid_options` for a provider that no request could reach. */
export function checkProviders({ providers = {} }: GatewayOptions): void {
  for (const [slug, settings] of Object.entries(providers)) {
    const problem = providerProblem(slug, settings);
    if (problem !== null) throw invalidOptions(`providers: ${problem}`);
  }
}

/** Throws `invalid_options` for a declared gateway that cannot be meant; nothing is found out by a request. */
export function checkDeclared(
  gateways: Readonly<Record<string, DeclaredGateway>>,
  options: SafetyOptions & Pick<GatewayOptions, "providers">,
): void {
  for (const [id, declaration] of Object.entries(gateways)) {
    const misfit = misfitOf(declaration, options) ?? keysProblem(declaration, options);
    if (misfit !== null) throw invalidOptions(`gateways.${id}.${misfit}`);
  }
}

/** Providers of the management API are not known yet. */
function mayExist(segment: string): boolean {
  return Object.hasOwn(builtIn, segment) || isCustomSegment(segment);
}

function misfitOf(declaration: DeclaredGateway, safety: SafetyOptions): string | null {
  const { settings = {}, keys = {}, routes = {}, providers = {} } = declaration;
  const { success, issues } = v.safeParse(gatewayDeclared, settings);
  if (!success) return misfitText(issues, { within: "settings" });
  const problem = dlpProblem(settings.dlp, safety);
  if (problem !== null) return `settings.dlp: ${problem}`;
  for (const named of spendProviders(settings.spend_limits))
    if (!mayExist(named.segment)) return `settings.${noSuchProvider(named)}`;
  for (const slug of Object.keys(keys)) {
    if (mayExist(slug)) continue;
    return `keys.${slug.slice(0, 64)}: no such provider${didYouMean(slug, Object.keys(builtIn))}`;
  }
  for (const [slug, own] of Object.entries(providers)) {
    const misfit = providerProblem(slug, own);
    if (misfit !== null) return `providers: ${misfit}`;
  }
  return modelsProblem(declaration) ?? brokenRoute(routes);
}

/** Says which of a gateway's keys could go to a host that a caller chooses, by the management API; null for none. */
function keysProblem(
  { keys = {}, providers: own = {} }: DeclaredGateway,
  { providers = {} }: Pick<GatewayOptions, "providers">,
): string | null {
  const named = Object.keys(keys).find(
    (slug) => isCustomSegment(slug) && !Object.hasOwn(own, slug) && !Object.hasOwn(providers, slug),
  );
  return named === undefined
    ? null
    : `keys.${named}: a token that may edit providers could send it to another host: give its baseUrl in "providers", too, or store its key by the management API`;
}

/** Says which of a gateway's names for models is at fault; null for none. */
function modelsProblem(declaration: DeclaredGateway): string | null {
  const { success, issues } = v.safeParse(declaredModels, declaration.models ?? {});
  return success ? poolProblem(declaration) : misfitText(issues, { within: "models" });
}

/** Says which of a gateway's routes is at fault; null for none. */
function brokenRoute(routes: NonNullable<DeclaredGateway["routes"]>): string | null {
  for (const [name, elements] of Object.entries(routes)) {
    try {
      readGraph(elements);
    } catch (error) {
      return `routes.${name.slice(0, 64)}: ${error instanceof Error ? error.message : ""}`;
    }
  }
  return null;
}
