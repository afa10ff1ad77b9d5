import { constantTimeEqual } from "../crypto/equal.ts";
import { sha256, sha256Hex } from "../crypto/digest.ts";
import { toHex } from "../crypto/encoding.ts";
import { ApiError } from "../http/api-error.ts";
import { permissions, type Permission } from "./permissions.ts";
import type { Principal } from "./principal.ts";

/** A token from the operator's configuration. */
export interface StaticToken {
  readonly token: string;
  /** Names of `permissions.ts`; `"*"` means all. */
  readonly permissions: readonly string[];
  /** Account ids; `"*"` means all. */
  readonly accounts: readonly string[];
}

interface HashedToken {
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

/** Finds the static token with this SHA-256; null when there is none. */
export type StaticLookup = (hash: Uint8Array) => Promise<Principal | null>;

/**
 * Prepares the configured tokens: each is hashed once, a lookup compares with all of them in constant time.
 * Throws `ApiError` for an unknown permission or an empty token.
 */
export function staticTokens(tokens: readonly StaticToken[]): StaticLookup {
  const checked = tokens.map((one) => ({
    token: checkToken(one.token),
    grants: [checkGrant(one)],
  }));
  let hashed: readonly HashedToken[] | undefined;
  return async (hash) => {
    // Hashed on first use: Workers allow no such work while a module loads.
    hashed ??= await Promise.all(checked.map(({ token, grants }) => hashToken(token, grants)));
    let found: Principal | null = null;
    for (const one of hashed) {
      if (constantTimeEqual(one.hash, hash)) found = one.principal;
    }
    return found;
  };
}

async function hashToken(token: string, grants: Principal["grants"]): Promise<HashedToken> {
  const hash = await sha256(token);
  // The id must not be a prefix of the hash: ids are shown, hashes are secrets' shadows.
  const id = (await sha256Hex(`causey.static-token:${toHex(hash)}`)).slice(0, 32);
  return { hash, principal: { id, kind: "token", grants } };
}

function checkToken(token: string): string {
  if (/^[!-~]{1,512}$/.test(token)) return token;
  throw new ApiError("invalid_options", {
    message: "A configured token must be 1 to 512 printable ASCII characters without spaces",
  });
}

function checkGrant(token: StaticToken): Principal["grants"][number] {
  return { permissions: checkPermissions(token.permissions), accounts: token.accounts };
}

/** Narrows permission names from a configuration; throws `ApiError` for a name that does not exist. */
export function checkPermissions(names: readonly string[]): (Permission | "*")[] {
  return names.map((name) => {
    if (name === "*") return "*";
    const known = permissions.find((permission) => permission === name);
    if (known !== undefined) return known;
    throw new ApiError("invalid_options", {
      message: `Unknown permission "${name.slice(0, 64)}": use one of ${permissions.join(", ")}, or "*"`,
    });
  });
}
