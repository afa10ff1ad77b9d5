import { createLocalJWKSet } from "jose/jwks/local";
import { decodeJwt } from "jose/jwt/decode";
import { jwtVerify } from "jose/jwt/verify";
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose";
import { ApiError, invalidOptions } from "../http/api-error.ts";
import type { Authenticate } from "./authorize.ts";
import { bearerToken } from "./bearer.ts";
import { type JwksDeps, remoteJwks } from "./jwks.ts";
import { permissions, type Permission } from "./permissions.ts";
import type { Principal } from "./principal.ts";
import { checkPermissions } from "./static-tokens.ts";

/** JWS algorithms that may be pinned: signatures only, no shared secrets and no `none`. */
const ALGORITHMS = new Set([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
]);

/** The three parts of a JWS in compact form (RFC 7515 section 7.1). */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Verification of the JWTs of one issuer, and their permissions. */
export interface JwtOptions {
  /** The `iss` that a token must carry. */
  readonly issuer: string;
  /** The `aud` that a token must carry; one of several is enough. */
  readonly audience: string | readonly string[];
  /** The accepted `alg` values: asymmetric only, so that a public key can never serve as a shared secret. @default ["RS256", "ES256"] */
  readonly algorithms?: readonly string[] | undefined;
  /** Address of the issuer's keys: https, or http on loopback. Either this or `jwks`. */
  readonly jwksUrl?: string | undefined;
  /** The issuer's public keys themselves. */
  readonly jwks?: JSONWebKeySet | undefined;
  /** Claim with permission names, an array or words separated by spaces. @default "permissions" */
  readonly claim?: string | undefined;
  /** Values of the claim and the permissions they stand for, e.g. roles. @default each name stands for itself */
  readonly map?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Claim with account ids, an array or words; a token without it reaches no account. @default `accounts` applies */
  readonly accountsClaim?: string | undefined;
  /** Accounts of every token when `accountsClaim` is not set. @default ["*"] */
  readonly accounts?: readonly string[] | undefined;
  /** Tolerated clock difference in seconds. @default 30 */
  readonly tolerance?: number | undefined;
}

/**
 * Authenticates by a JWT (RFC 7519) in `Authorization: Bearer`: signature, issuer, audience, `exp` (required)
 * and `nbf` are checked, the algorithm is pinned (RFC 8725 section 3.1).
 * Throws `ApiError` (`invalid_options`) for invalid options; a request throws 503 when the
 * issuer's keys were never readable.
 */
export function jwtAuth(options: JwtOptions, platform: JwksDeps): Authenticate {
  const algorithms = checkAlgorithms(options.algorithms ?? ["RS256", "ES256"]);
  const getKey = keySource(options, platform);
  const toPrincipal = claimReader(options);
  const byToken = async (token: string): Promise<Principal | null> => {
    if (!FORM.test(token)) return null;
    try {
      const { payload } = await jwtVerify(token, getKey, {
        issuer: options.issuer,
        audience: typeof options.audience === "string" ? options.audience : [...options.audience],
        algorithms,
        clockTolerance: options.tolerance ?? 30,
        currentDate: new Date(platform.system.now()),
        requiredClaims: ["exp"],
      });
      return toPrincipal(payload);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      return null;
    }
  };
  const authenticate = async (request: Request): Promise<Principal | null> => {
    const token = bearerToken(request.headers.get("authorization"));
    return token === null ? null : await byToken(token);
  };
  const isIn = (text: string): boolean =>
    [...text.matchAll(/\bey[\w-]+\.[\w-]+\.[\w-]+/g)].some(([jwt]) => isMeantFor(jwt, options));
  return Object.assign(authenticate, { byToken, isIn });
}

/** When a JWT expires by its own word (Unix ms), for one that was verified before; null for anything else. */
export function jwtExpiry(token: string): number | null {
  if (!FORM.test(token)) return null;
  try {
    const { exp } = decodeJwt(token);
    return exp === undefined ? null : exp * 1000;
  } catch {
    return null;
  }
}

/** Whether a JWT says that it is of this issuer for this audience, expired and forged ones included. */
function isMeantFor(jwt: string, { issuer, audience }: JwtOptions): boolean {
  try {
    const { iss, aud } = decodeJwt(jwt);
    // The audience counts too: a provider may take tokens of the very same issuer, made for itself.
    const meant = typeof audience === "string" ? [audience] : audience;
    return iss === issuer && [aud ?? []].flat().some((one) => meant.includes(one));
  } catch {
    return false;
  }
}

function checkAlgorithms(algorithms: readonly string[]): string[] {
  const wrong = algorithms.find((name) => !ALGORITHMS.has(name));
  if (algorithms.length > 0 && wrong === undefined) return [...algorithms];
  throw invalidOptions(
    `Unsupported JWT algorithm "${wrong ?? ""}": pin one or more of ${[...ALGORITHMS].join(", ")}`,
  );
}

function keySource(options: JwtOptions, platform: JwksDeps): JWTVerifyGetKey {
  if (options.jwks !== undefined && options.jwksUrl === undefined)
    return createLocalJWKSet(options.jwks);
  if (options.jwksUrl !== undefined && options.jwks === undefined)
    return remoteJwks(options.jwksUrl, platform);
  throw invalidOptions("JWT options need either jwks or jwksUrl");
}

function claimReader(options: JwtOptions): (payload: JWTPayload) => Principal {
  const { claim = "permissions", accountsClaim, accounts = ["*"] } = options;
  const map = new Map(
    Object.entries(options.map ?? {}).map(([word, list]) => [word, checkPermissions(list)]),
  );
  const meaning = (word: string): readonly (Permission | "*")[] =>
    map.get(word) ?? permissions.filter((permission) => permission === word);
  return (payload) => ({
    id: (payload.sub ?? "jwt").slice(0, 256),
    kind: "jwt",
    grants: [
      {
        permissions: claimed(payload[claim]).flatMap(meaning),
        accounts: accountsClaim === undefined ? accounts : words(payload[accountsClaim]),
      },
    ],
  });
}

/** Permission names contain spaces, so a plain text is first taken whole. */
function claimed(value: unknown): string[] {
  return typeof value === "string" ? [value, ...words(value)] : words(value);
}

function words(value: unknown): string[] {
  if (typeof value === "string") return value.split(/[ ,]+/).filter((word) => word !== "");
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
