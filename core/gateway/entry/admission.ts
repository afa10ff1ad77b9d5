import { type NowOrLater, whenReady } from "../../work/now-or-later.ts";
import { isKeyShaped } from "../../auth/token-format.ts";
import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { bearerOf, presentedToken } from "../call/gateway-token.ts";
import type { GatewayCaller } from "../call/caller.ts";
import { callError } from "./call-error.ts";
import type { Call } from "../call/call.ts";
import type { AccountPrices } from "../prices/account-prices.ts";
import type { GatewayStore } from "../account/gateways/store.ts";
import type { GatewayMetrics } from "../observe/metrics/metrics.ts";
import type { Tracing } from "../observe/trace/tracing.ts";
import type { GatewayAccess } from "./access.ts";
import type { PriceBook } from "../prices/price-book.ts";
import { AUTHORIZATION, gatewayHeader, parseControls } from "../call/controls.ts";
import { hasAmbiguousFraming, headerValue } from "../wire/header-hygiene.ts";
import { retryAfter } from "../../http/fields/retry-after.ts";
import { credentialHeaders, queryCredentials } from "../providers/known/table.ts";
import { linkAbort } from "../call/abort-link.ts";
import {
  DEFAULT_GATEWAY,
  type GatewaySettings,
  isGatewayId,
} from "../account/settings/settings.ts";
import { HEADER, type PresentedToken, tokenError } from "./token-error.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { EntryRoute } from "../observe/trace/request-spans.ts";
import { traceParent } from "../call/trace-parent.ts";

/** The entry of a request, and the ways in which it may present the token. */
export interface AdmitOptions {
  readonly entry: EntryRoute;
  /** On `compat` the documented client sends the gateway token in `Authorization` (docs/compatibility.md). */
  readonly tokenInAuthorization?: boolean;
  /** Whether the token may stand there without `Bearer`, see {@link presentedToken}. @default false */
  readonly takesBareToken?: boolean;
  /** The raw query, where the provider may take its key in one: a virtual key stands there, too. @default empty */
  readonly query?: string;
  /** The caller where it is known already, null = an anonymous one. @default the token's */
  readonly caller?: GatewayCaller | null;
  /** The token by which a connection's caller is asked for again, null = it is not known. @default it was just asked for */
  readonly connected?: { readonly token: string | null };
  /** The request that presented the token: whose address failed logins count for. @default the program's own */
  readonly client?: Request;
  /** Its signal is the program's own word, not a connection's. */
  readonly inProcess?: boolean;
}

export interface AdmissionParts {
  readonly access: Pick<GatewayAccess, "callerOf" | "refreshCaller" | "recognises" | "refused">;
  readonly store: Pick<GatewayStore, "enter" | "hint" | "open" | "settings">;
  readonly prices: Pick<AccountPrices, "base" | "of">;
  readonly tracing: Pick<Tracing, "begin" | "isEverywhere">;
  /** Counts what is refused. @default nothing is counted */
  readonly metrics?: Pick<GatewayMetrics, "refuse"> | undefined;
  readonly nextLogId: () => string;
  /** Whether streams can be taken up again by clients that lose them. */
  readonly resumes: boolean;
}

export interface GatewayAdmission {
  /**
   * Lets a request in or throws: 401/2009 without a token that opens the gateway, 400/2001 for an unknown
   * gateway, 429/2003 over its rate limit. A refused request leaves no row behind.
   */
  admit(
    name: GatewayName,
    headers: readonly HeaderPair[],
    signal: AbortSignal,
    options: AdmitOptions,
  ): Promise<Call>;
  /**
   * Admits a connection or throws as `admit` does; its messages are counted, not the connection. Each message is checked
   * again: a gateway can be closed while an anonymous client is connected.
   */
  connect(name: GatewayName, token: string | null, client: Request): Promise<void>;
}

export function admission(parts: AdmissionParts): GatewayAdmission {
  return {
    admit: (name, headers, signal, options) => admit(name, parts, { headers, signal, options }),
    connect: (name, token, client) => admitConnection(name, { token, client }, parts),
  };
}

interface AdmittedRequest {
  readonly headers: readonly HeaderPair[];
  readonly signal: AbortSignal;
  readonly options: AdmitOptions;
}

async function admit(
  name: GatewayName,
  parts: AdmissionParts,
  { headers, signal, options }: AdmittedRequest,
): Promise<Call> {
  if (hasAmbiguousFraming(headers)) throw new ApiError("ambiguous_framing");
  const presented = findToken(headers, options);
  const { caller, refusal } = await verdictOn(presented, name, parts, { headers, options });
  checkName(name, refusal, parts);
  // An unauthorised caller learns that, and nothing about its headers.
  const read = refusal === null ? readAsked(headers) : null;
  const { settings: found, wait } = await parts.store.enter(name, refusal === null);
  // An unauthorised caller must not learn which gateways exist.
  if (found === null && refusal === null) await checkDefault(name, parts);
  const settings = entered(found, name, refusal, parts) ?? (await parts.store.open(name));
  const { controls, trace } = read ?? readAsked(headers);
  const { otel } = settings;
  const userAgent = headerValue(headers, "user-agent");
  const traced =
    !parts.tracing.isEverywhere && (otel == null || otel.length === 0)
      ? undefined
      : parts.tracing.begin(name, otel ?? [], {
          ...options,
          parent: trace,
          controls,
          userAgent,
          signal,
        });
  const prices = await pricesOf(settings, name, parts);
  const call: Call = {
    name,
    settings,
    caller,
    prices,
    controls,
    token: presented.place !== HEADER ? await ownToken(presented.token, parts) : presented.token,
    eventId: controls.eventId ?? parts.nextLogId(),
    userAgent,
    signal,
    abortLink: undefined,
    trace,
    traced,
  };
  if (wait > 0) throw callError(call, rateLimited(wait, name, parts));
  if (!parts.resumes) return call;
  const abortLink = linkAbort(signal, options.inProcess === true);
  return { ...call, signal: abortLink.signal, abortLink };
}

/** The prices of the management API are read once for each of their changes. */
function pricesOf(
  { prices_version: version }: GatewaySettings,
  { account }: GatewayName,
  { prices }: AdmissionParts,
): PriceBook | Promise<PriceBook> {
  return version === undefined ? prices.base : prices.of(account, version);
}

/** Reads the options and the trace that a request's headers set. */
function readAsked(headers: readonly HeaderPair[]): Pick<Call, "controls" | "trace"> {
  return { controls: parseControls(headers), trace: traceParent(headers) };
}

function rateLimited(wait: number, name: GatewayName, { metrics }: AdmissionParts): ApiError {
  metrics?.refuse(name, "rate_limited");
  return new ApiError("gateway_rate_limited", { headers: retryAfter(wait) });
}

/** Throws for a token that does not open the gateway; at an open one only for a guess of many. */
async function checkConnection(
  name: GatewayName,
  {
    token,
    client,
    isOpen,
  }: { readonly token: string | null; readonly client: Request; readonly isOpen: boolean },
  { access, metrics, store }: AdmissionParts,
): Promise<void> {
  if ((await access.callerOf(token, name, false, client)) !== null) return;
  // At an open gateway the rights of its messages would reveal whether the token is right.
  if (isOpen) return access.refused(client);
  if (isName(name) && (await store.settings(name)) !== null) metrics?.refuse(name, "unauthorized");
  throw errorOf({ token, place: HEADER, client }, { access });
}

async function admitConnection(
  name: GatewayName,
  { token, client }: { readonly token: string | null; readonly client: Request },
  parts: AdmissionParts,
): Promise<void> {
  const settings = isName(name) ? await parts.store.settings(name) : null;
  const isOpen = settings?.authentication === false && (token === null || !isKeyShaped(token));
  if (!isOpen || token !== null) await checkConnection(name, { token, client, isOpen }, parts);
  checkName(name, null, parts);
  if (settings === null && name.gateway !== DEFAULT_GATEWAY)
    throw unknownGateway(name.gateway, token === null ? "" : await parts.store.hint(name));
  if (settings === null) await parts.store.open(name);
}

/** `Authorization` may hold either our token or the provider's key: only ours must be held back. */
async function ownToken(token: string | null, parts: AdmissionParts): Promise<string | null> {
  return token !== null && (await parts.access.recognises(token)) ? token : null;
}

function findToken(headers: readonly HeaderPair[], options: AdmitOptions): PresentedToken {
  if (options.tokenInAuthorization === true && gatewayHeader(headers, AUTHORIZATION) === null) {
    const token = bearerOf(headerValue(headers, "authorization"));
    if (token !== null) return { token, place: "Authorization" };
  }
  const token = presentedToken(headers, options.takesBareToken === true);
  if (token !== null) return { token, place: HEADER };
  return keyInPlaceOfCredential(headers) ?? keyInQuery(options.query) ?? { token, place: HEADER };
}

/** Finds a virtual key in the parameter in which a provider takes its own. */
function keyInQuery(query: string = ""): PresentedToken | null {
  if (!query.includes("causey_")) return null;
  const parameters = new URLSearchParams(query);
  for (const name of queryCredentials) {
    const token = parameters.get(name);
    if (token !== null && isKeyShaped(token)) return { token, place: `the query's ${name}` };
  }
  return null;
}

/** Finds a virtual key where an SDK puts its provider's: any SDK can be given one as its `apiKey`. */
function keyInPlaceOfCredential(headers: readonly HeaderPair[]): PresentedToken | null {
  for (const [name, value] of headers) {
    if (!credentialHeaders.has(name) || !value.includes("causey_")) continue;
    const token = value.slice(value.lastIndexOf(" ") + 1);
    if (isKeyShaped(token)) return { token, place: name };
  }
  return null;
}

interface TokenRefusal extends PresentedToken {
  /** The request that presented it; undefined for the program's own. */
  readonly client: Request | undefined;
  /** Set when that could not be found out. */
  readonly error?: unknown;
  /** Whether it counts on a gateway without authentication, too: a caller that presents a virtual key is held to it. */
  readonly isFinal?: boolean;
  /** The headers of the request, and how it could have presented a token: for the error. @default a connection's */
  readonly headers?: readonly HeaderPair[];
  readonly options?: Pick<AdmitOptions, "tokenInAuthorization">;
}

/** The caller, or why a gateway with authentication refuses it. */
type Verdict =
  | { readonly caller: GatewayCaller; readonly refusal: null }
  | { readonly caller: null; readonly refusal: TokenRefusal };

/** Computed before the gateway's settings are read, so that one call to its actor is enough. Thrown only if it counts. */
function verdictOn(
  presented: PresentedToken,
  name: GatewayName,
  { access }: AdmissionParts,
  { headers, options }: Pick<AdmittedRequest, "headers" | "options">,
): Promise<Verdict> | Verdict {
  const { client } = options;
  const verdict = (caller: GatewayCaller | null): Verdict =>
    caller === null
      ? { caller, refusal: { ...presented, client, headers, options } }
      : { caller, refusal: null };
  const failed = (error: unknown): Verdict => {
    const { token } = presented;
    const isFinal = options.caller?.kind === "key" || (token !== null && isKeyShaped(token));
    return { caller: null, refusal: { ...presented, client, error, isFinal } };
  };
  try {
    const caller =
      options.caller === undefined
        ? access.callerOf(presented.token, name, true, client)
        : knownCaller(options.caller, name, access, options);
    return whenReady(caller, verdict, failed);
  } catch (error) {
    return failed(error);
  }
}

/** Returns a caller that is known already. A virtual key counts a request where it is admitted. */
function knownCaller(
  caller: GatewayCaller | null,
  name: GatewayName,
  access: AdmissionParts["access"],
  { connected }: AdmitOptions,
): NowOrLater<GatewayCaller> | null {
  if (caller === null || (connected === undefined && caller.kind !== "key")) return caller;
  return access.refreshCaller(caller, name, { token: connected?.token ?? null, counts: true });
}

/** Returns the error of a refusal that counts. A wrong token is a failed login. */
function errorOf(
  { token, place, client, error, headers = [], options }: TokenRefusal,
  { access }: Pick<AdmissionParts, "access">,
): unknown {
  if (error !== undefined) return error;
  if (token !== null && client !== undefined) access.refused(client);
  return tokenError({ token, place }, headers, options?.tokenInAuthorization === true);
}

/**
 * Counts a wrong gateway token as a failed login even at an open gateway: a right one could be found there, too. It refuses
 * no request.
 */
function countGuess(
  { token, place, client, error }: TokenRefusal,
  { access }: Pick<AdmissionParts, "access">,
): void {
  // Elsewhere it may be the key of a provider, which is forwarded.
  if (token === null || place !== HEADER || client === undefined || error !== undefined) return;
  try {
    access.refused(client);
  } catch (tooMany) {
    if (!(tooMany instanceof ApiError)) throw tooMany;
  }
}

/**
 * Returns the settings of the gateway that a request may enter; null for the default one, which its first request makes.
 */
function entered(
  settings: GatewaySettings | null,
  name: GatewayName,
  refusal: TokenRefusal | null,
  parts: AdmissionParts,
): GatewaySettings | null {
  const isStranger = settings?.authentication === false && refusal?.isFinal !== true;
  if (refusal === null) return settings;
  if (isStranger) {
    countGuess(refusal, parts);
    return settings;
  }
  if (settings !== null && refusal.error === undefined) parts.metrics?.refuse(name, "unauthorized");
  throw errorOf(refusal, parts);
}

function checkName(
  name: GatewayName,
  refusal: TokenRefusal | null,
  parts: Pick<AdmissionParts, "access">,
): void {
  if (!isName(name))
    throw refusal === null ? unknownGateway(name.gateway) : errorOf(refusal, parts);
}

function isName({ account, gateway }: GatewayName): boolean {
  return isGatewayId(gateway) && account.length > 0 && account.length <= 64;
}

/** Throws for a gateway that does not exist; only the default one is made by its first request. */
async function checkDefault(name: GatewayName, { store }: AdmissionParts): Promise<void> {
  if (name.gateway !== DEFAULT_GATEWAY) throw unknownGateway(name.gateway, await store.hint(name));
}

function unknownGateway(gateway: string, hint: string = ""): ApiError {
  const help =
    hint || `: make it by POST /accounts/{account_id}/ai-gateway/gateways, or use "default"`;
  return new ApiError("gateway_unknown", {
    message: `Please configure AI Gateway: this account has no gateway "${gateway.slice(0, 64)}"${help}`,
  });
}
