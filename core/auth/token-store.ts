import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import { quickSha256Hex } from "../crypto/digest.ts";
import { type NowOrLater, whenReady } from "../now-or-later.ts";
import type { Platform } from "../ports.ts";
import type { Authenticate } from "./authorize.ts";
import { bearerToken } from "./bearer.ts";
import { jwtAuth, type JwtOptions } from "./jwt.ts";
import type { Principal } from "./principal.ts";
import { type StaticToken, staticTokens } from "./static-tokens.ts";
import { tokenKind, type TokenMethods } from "./token-actor.ts";
import { hasTokenShape, isTokenShaped } from "./token-format.ts";

/** The stored tokens, as the handlers see them. */
export type TokenStore = ActorClient<TokenMethods>;

/** The token store of a platform. */
export function tokenStore(platform: Pick<Platform, "actors">): TokenStore {
  // Not on first use: another process may call the actor in this one.
  platform.actors.define(tokenKind);
  return actorClient(platform.actors.get(tokenKind.name, "all"));
}

/** Options of {@link storedTokens}. */
export interface StoredTokensOptions {
  /** Tokens of the configuration, beside those made through the API. @default [] */
  readonly tokens?: readonly StaticToken[];
  /** Accepts JWTs of an issuer as well. @default none */
  readonly jwt?: JwtOptions;
}

/**
 * Authenticates by `Authorization: Bearer`: a configured token, then one made through the API, then a JWT.
 * Throws `ApiError` (`invalid_options`) for options that cannot be right.
 */
export function storedTokens(platform: Platform, options: StoredTokensOptions = {}): Authenticate {
  const store = tokenStore(platform);
  const configured = staticTokens(options.tokens ?? [], (length) => platform.system.random(length));
  const jwt = options.jwt === undefined ? null : jwtAuth(options.jwt, platform);

  const stored = (token: string, hash: string): PrincipalLookup =>
    isTokenShaped(token) ? store.find(hash) : (jwt?.byToken?.(token) ?? null);
  const byHash = (token: string, hash: string): PrincipalLookup => {
    return whenReady(configured.find(hash), (found) => found ?? stored(token, hash));
  };
  const byToken = (token: string): PrincipalLookup =>
    whenReady(quickSha256Hex(token, platform.system), (hash) => byHash(token, hash));
  const authenticate = async (request: Request): Promise<Principal | null> => {
    const token = bearerToken(request.headers.get("authorization"));
    return token === null ? null : await byToken(token);
  };
  const isIn = (text: string): boolean =>
    configured.isIn(text) || hasTokenShape(text) || (jwt?.isIn?.(text) ?? false);
  return Object.assign(authenticate, { byToken, isIn });
}

type PrincipalLookup = NowOrLater<Principal | null>;
