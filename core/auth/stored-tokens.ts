import { sha256 } from "../crypto/digest.ts";
import { toHex } from "../crypto/encoding.ts";
import type { Platform } from "../ports.ts";
import type { Authenticate } from "./authorize.ts";
import { bearerToken } from "./bearer.ts";
import { jwtAuth, type JwtOptions } from "./jwt.ts";
import { staticTokens, type StaticToken } from "./static-tokens.ts";
import { isTokenShaped } from "./token-format.ts";
import { tokenStore } from "./token-store.ts";

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
  const findStatic = staticTokens(options.tokens ?? []);
  const verifyJwt = options.jwt === undefined ? null : jwtAuth(options.jwt, platform);
  return async (request) => {
    const token = bearerToken(request.headers.get("authorization"));
    if (token === null) return null;
    const hash = await sha256(token);
    const configured = await findStatic(hash);
    if (configured !== null) return configured;
    if (isTokenShaped(token)) return await store.find(toHex(hash));
    return verifyJwt === null ? null : await verifyJwt(request);
  };
}
