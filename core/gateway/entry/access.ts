import { type NowOrLater, whenReady } from "../../work/now-or-later.ts";
import { type Auth, type Authenticate, principalOf } from "../../auth/authorize.ts";
import type { LoginGuard } from "../../auth/login-guard.ts";
import { allows, type Principal } from "../../auth/principal.ts";
import { secretSearch } from "../../auth/secret-search.ts";
import { hasTokenShape, isKeyShaped } from "../../auth/token-format.ts";
import { quickSha256Hex, sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { constantTimeEqual } from "../../crypto/equal.ts";
import type { System } from "../../ports.ts";
import { basicCredentials, credentialsIn } from "../wire/own-tokens.ts";
import { type GatewayCaller, HOST } from "../call/caller.ts";
import { declaredGateway, type DeclaredGateways } from "../account/settings/declared-gateways.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { KeyEntry } from "../account/keys/key-entry.ts";
import { recentMap } from "../../work/recent-map.ts";
import { GATEWAY_TOKEN_LIMIT } from "../call/gateway-token.ts";

/** Decides who may use a gateway, and recognises our tokens so that they never travel to a provider. */
export interface GatewayAccess {
  /**
   * Returns the caller who opens the gateway with a token; null when the token does not open it. A virtual key that does
   * not open it throws an error of its own; one that does counts a request, unless `counts` is false. `client` is the
   * request that presented the token: a good token becomes known for its address, and {@link LoginGuard.check} refuses
   * tokens from an address that may be guessing. A wrong virtual key counts as a failed login, and other tokens once they
   * are {@link GatewayAccess.refused}.
   */
  callerOf(
    token: string | null,
    name: GatewayName,
    counts?: boolean,
    client?: Request,
  ): Promise<GatewayCaller | null> | GatewayCaller | null;
  /** Counts a failed login, where a token was needed; throws `too_many_logins` after too many. */
  refused(client: Request): void;
  /** The caller of a connection as its token says now. Throws `gateway_unauthorized` when that opens the gateway no longer. */
  refreshCaller(
    caller: GatewayCaller,
    name: GatewayName,
    options: RefreshOptions,
  ): NowOrLater<GatewayCaller>;
  /** Whether a token is one of ours at all: of the configuration, or an API token of any permission. */
  recognises(token: string): Promise<boolean> | boolean;
  /**
   * Whether a header or query value holds one of ours, given the token that this request presented and what
   * {@link GatewayAccess.ask} found out.
   */
  holdsOwnToken(value: string, presented: string | null, asked?: ReadonlySet<string>): boolean;
  /** Whether only {@link GatewayAccess.ask} knows the host's tokens. */
  readonly asksHost: boolean;
  /** Asks a host's own authentication which words of these values are tokens of its. */
  ask(values: readonly string[]): Promise<ReadonlySet<string>> | undefined;
}

/** How a caller is asked for again. */
export interface RefreshOptions {
  /** The token that the connection has shown; null = its hash alone is known, as after an eviction. */
  readonly token: string | null;
  /** Whether a virtual key counts a request. */
  readonly counts: boolean;
}

export interface AccessOptions extends DeclaredGateways {
  readonly auth: Auth;
  readonly system: System;
  readonly keys: KeyEntry;
  readonly logins: LoginGuard;
}

/** Makes the access by the tokens of the configuration, else by API tokens with the permission "AI Gateway Run". */
export function gatewayAccess(options: AccessOptions): GatewayAccess {
  const { auth, system, keys, logins } = options;
  const declared = Object.values(options.gateways).map((gateway) => {
    const tokens = (gateway.tokens ?? []).filter(Boolean);
    return { gateway, tokens, bytes: tokens.map(utf8), callers: callersBy(tokens, system) };
  });
  const tokensOf = new Map(declared.map(({ gateway, ...own }) => [gateway, own]));
  const searchTokens = secretSearch(
    declared.flatMap(({ tokens }) => tokens),
    (length) => system.random(length),
  );
  const isIn = (text: string): boolean =>
    hasTokenShape(text) || (auth !== "off" && auth.isIn?.(text) === true) || searchTokens(text);
  const host = auth === "off" || auth.isIn !== undefined ? null : hostTokens(auth, system);
  return {
    refreshCaller(caller, name, { token, counts }) {
      const { kind, tokenHash = "" } = caller;
      if (kind === "key") return keys.byHash(tokenHash, name, counts);
      if (auth === "off" || (kind !== "token" && kind !== "jwt")) return caller;
      const principal =
        token === null ? (auth.byHash?.(tokenHash) ?? null) : principalOf(auth, token);
      return whenReady(principal, (found) => runner(found, name) ?? ended());
    },
    refused: (client) => logins.failed(client),
    callerOf(token, name, counts = true, client) {
      if (token !== null && client !== undefined) logins.check(token, client);
      if (token !== null && isKeyShaped(token))
        return byKey(token, { name, counts, client }, options);
      const gateway = declaredGateway(name, options);
      const own = gateway === undefined ? undefined : tokensOf.get(gateway);
      // Left to the host app, unless the gateway has tokens of its own.
      if (auth === "off" && (own === undefined || own.tokens.length === 0)) return HOST;
      if (token === null) return null;
      const found = byOwn(token, own, client, logins);
      if (found !== null || auth === "off") return found;
      return whenReady(principalOf(auth, token, client), (principal) => runner(principal, name));
    },
    recognises: (token) => isIn(token) || (host?.knows(token) ?? false),
    holdsOwnToken(value, presented, asked) {
      const shown = presented !== null && value.includes(presented);
      if (shown || (asked?.size ?? 0) > 0) {
        const words = credentialsIn(value);
        if (words.some((word) => word === presented || asked?.has(word) === true)) return true;
      }
      const pair = basicCredentials(value);
      return isIn(value) || (pair !== null && isIn(pair));
    },
    asksHost: host !== null,
    ask: (values) => host?.among(values.flatMap(credentialsIn)),
  };
}

interface OwnTokens {
  readonly bytes: readonly Uint8Array[];
  readonly callers: (at: number) => NowOrLater<GatewayCaller>;
}

function byKey(
  secret: string,
  {
    name,
    counts,
    client,
  }: { readonly name: GatewayName; readonly counts: boolean; readonly client: Request | undefined },
  { keys, logins }: AccessOptions,
): Promise<GatewayCaller> {
  const entering = keys.bySecret(secret, name, counts);
  return client === undefined ? entering : entering.catch(countsRefusal(client, logins));
}

/** Returns the caller of one of the gateway's own tokens, which is known from there; null for any other. */
function byOwn(
  token: string,
  own: OwnTokens | undefined,
  client: Request | undefined,
  logins: LoginGuard,
): NowOrLater<GatewayCaller> | null {
  const at = own === undefined ? -1 : matching(utf8(token), own.bytes);
  if (own === undefined || at === -1) return null;
  if (client !== undefined) logins.passed(token, client);
  return own.callers(at);
}

/** A virtual key that is not known is a failed login; one over a limit is not. */
function countsRefusal(client: Request, logins: LoginGuard): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiError && error.kind === "gateway_unauthorized") logins.failed(client);
    throw error;
  };
}

function runner(
  principal: Principal | null,
  { account, gateway }: GatewayName,
): GatewayCaller | null {
  if (principal === null || !allows(principal, "AI Gateway Run", account, gateway)) return null;
  return { kind: principal.kind, id: principal.id };
}

function ended(): never {
  throw new ApiError("gateway_unauthorized", {
    message: "Unauthorized: the token does not open this gateway any longer",
  });
}

/**
 * Returns the place of a token among others, or -1. Compares with all, so that the time does not tell which nearly matched.
 */
function matching(token: Uint8Array, known: readonly Uint8Array[]): number {
  let found = -1;
  for (const [at, one] of known.entries()) if (constantTimeEqual(token, one)) found = at;
  return found;
}

/** Returns the callers of a gateway's tokens by their places, each made once. */
function callersBy(
  tokens: readonly string[],
  system: System,
): (at: number) => NowOrLater<GatewayCaller> {
  const known: GatewayCaller[] = [];
  return (at) =>
    known[at] ??
    whenReady(quickSha256Hex(tokens[at] ?? "", system), (tokenHash) => {
      const caller: GatewayCaller = { kind: "gateway", id: null, tokenHash };
      known[at] = caller;
      return caller;
    });
}

/** The tokens of a host's own authentication, which can only be asked about one text after the other. */
interface HostTokens {
  knows(text: string): Promise<boolean>;
  /** Those of the texts that are tokens. */
  among(texts: readonly string[]): Promise<ReadonlySet<string>>;
}

/** Milliseconds that a verdict about a text is kept; the texts themselves, providers' keys, are not. */
const VERDICT_MS = 60_000;

const VERDICTS = 1000;

function hostTokens(auth: Authenticate, system: System): HostTokens {
  const verdicts = recentMap<boolean>(VERDICTS, VERDICT_MS, system);
  const knows = async (text: string): Promise<boolean> => {
    // A header could not hold any other text, so it cannot be a token, and a request could not be made of it.
    if (!/^[!-~]+$/.test(text) || text.length > GATEWAY_TOKEN_LIMIT) return false;
    const key = await sha256Hex(text);
    const known = verdicts.get(key);
    if (known !== undefined) return known;
    const isValid = (await principalOf(auth, text)) !== null;
    verdicts.set(key, isValid);
    return isValid;
  };
  return {
    knows,
    async among(texts) {
      const found = await Promise.all(texts.map(async (text) => ((await knows(text)) ? text : "")));
      return new Set(found.filter((text) => text !== ""));
    },
  };
}
