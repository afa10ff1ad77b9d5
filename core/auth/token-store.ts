import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import { quickSha256Hex } from "../crypto/digest.ts";
import { type NowOrLater, whenReady } from "../work/now-or-later.ts";
import type { Platform } from "../ports.ts";
import type { Authenticate } from "./authorize.ts";
import { bearerToken } from "./bearer.ts";
import { loginGuard, type LoginGuardOptions } from "./login-guard.ts";
import { jwtAuth, type JwtOptions } from "./jwt.ts";
import type { Principal } from "./principal.ts";
import { type StaticToken, staticTokens } from "./static-tokens.ts";
import { tokenKind, type TokenMethods } from "./token-actor.ts";
import { hasTokenShape, isTokenShaped } from "./token-format.ts";

/** The stored tokens, as the handlers see them. */
export type TokenStore = ActorClient<TokenMethods>;

export function tokenStore(platform: Pick<Platform, "actors">): TokenStore {
  // Defined at once, because another process may call the actor in this one.
  platform.actors.define(tokenKind);
  return actorClient(platform.actors.get(tokenKind.name, "all"));
}

/** Options of {@link storedTokens}. */
export interface StoredTokensOptions extends LoginGuardOptions {
  /** Tokens of the configuration, beside those made through the API. @default [] */
  readonly tokens?: readonly StaticToken[];
  /** Accepts JWTs of an issuer as well. @default none */
  readonly jwt?: JwtOptions;
}

/**
 * Authenticates by `Authorization: Bearer`: a configured token, then one made through the API, then a JWT. After too
 * many failures it throws `ApiError` (`too_many_logins`) for tokens that could be guesses.
 * Throws `ApiError` (`invalid_options`) for invalid options.
 */
export function storedTokens(platform: Platform, options: StoredTokensOptions = {}): Authenticate {
  const store = tokenStore(platform);
  const configured = staticTokens(options.tokens ?? [], (length) => platform.system.random(length));
  const logins = loginGuard(platform, options);
  const jwt = options.jwt === undefined ? null : jwtAuth(options.jwt, platform);

  const stored = (token: string, hash: string): PrincipalLookup =>
    isTokenShaped(token) ? store.find(hash) : (jwt?.byToken?.(token) ?? null);
  const find = (token: string, hash: string, request?: Request): PrincipalLookup =>
    whenReady(configured.find(hash), (found) => {
      if (found === null) return stored(token, hash);
      if (request !== undefined) logins.passed(token, request);
      return found;
    });
  const byToken = (token: string, request?: Request): PrincipalLookup =>
    whenReady(quickSha256Hex(token, platform.system), (hash) => find(token, hash, request));
  const byHash = (hash: string): PrincipalLookup =>
    whenReady(configured.find(hash), (found) => found ?? store.find(hash));
  const authenticate = async (request: Request): Promise<Principal | null> => {
    const token = bearerToken(request.headers.get("authorization"));
    if (token === null) return null;
    logins.check(token, request);
    const principal = await byToken(token, request);
    if (principal === null) logins.failed(request);
    return principal;
  };
  const isIn = (text: string): boolean =>
    configured.isIn(text) || hasTokenShape(text) || (jwt?.isIn?.(text) ?? false);
  return Object.assign(authenticate, { byHash, byToken, isIn, logins });
}

type PrincipalLookup = NowOrLater<Principal | null>;
