import type { NowOrLater } from "../work/now-or-later.ts";
import { constantTimeEqual } from "../crypto/equal.ts";
import { sha256Hex } from "../crypto/digest.ts";
import { utf8 } from "../crypto/encoding.ts";
import { invalidOptions } from "../http/api-error.ts";
import { choiceHint } from "../text/nearest.ts";
import { permissions, type Permission } from "./permissions.ts";
import type { Principal } from "./principal.ts";
import { secretSearch, type SecretSearch } from "./secret-search.ts";

/** A token from the operator's configuration. */
export interface StaticToken {
  readonly token: string;
  /** `"*"` means all. */
  readonly permissions: readonly (Permission | "*")[];
  /** Account ids; `"*"` means all. */
  readonly accounts: readonly string[];
  /** Ids of gateways: then the token is good for those alone. @default everything of the accounts */
  readonly gateways?: readonly string[] | undefined;
}

interface HashedToken {
  /** Its hexadecimal digits as bytes. */
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

export interface StaticTokens {
  /** The principal of the token with this SHA-256 (hexadecimal); null for an unknown token. */
  find(hash: string): NowOrLater<Principal | null>;
  /** Whether a text contains one of them. */
  readonly isIn: SecretSearch;
}

/**
 * Prepares the configured tokens: each is hashed once, a lookup compares with all of them in constant time.
 * Throws `ApiError` for an unknown permission, or a token that is empty or could be guessed.
 */
export function staticTokens(
  tokens: readonly StaticToken[],
  random: (length: number) => Uint8Array,
): StaticTokens {
  const checked = tokens.map((one, index) => ({
    token: checkToken(one.token, index),
    grants: [checkGrant(one)],
  }));
  let hashed: readonly HashedToken[] | undefined;
  const hashAll = async (): Promise<readonly HashedToken[]> => {
    hashed ??= await Promise.all(checked.map(({ token, grants }) => hashToken(token, grants)));
    return hashed;
  };
  return {
    // Hashed on first use: Workers allow no such work while a module loads.
    find: (hash) =>
      hashed === undefined
        ? hashAll().then((all) => principalWith(hash, all))
        : principalWith(hash, hashed),
    isIn: secretSearch(
      checked.map(({ token }) => token),
      random,
    ),
  };
}

/** Compares with all of them, so that the time does not reveal which one nearly matched. */
function principalWith(hash: string, all: readonly HashedToken[]): Principal | null {
  let found: Principal | null = null;
  const wanted = utf8(hash);
  for (const one of all) {
    if (constantTimeEqual(one.hash, wanted)) found = one.principal;
  }
  return found;
}

async function hashToken(token: string, grants: Principal["grants"]): Promise<HashedToken> {
  const hash = await sha256Hex(token);
  // The id must not be a prefix of the hash, because ids are shown and hashes are kept secret.
  const id = (await sha256Hex(`causey.static-token:${hash}`)).slice(0, 32);
  return { hash: utf8(hash), principal: { id, kind: "token", grants } };
}

/** A token must not be guessable: the bounds are the same for every configured token. */
function checkToken(token: string, index: number): string {
  if (/^[!-~]{16,512}$/.test(token)) return token;
  throw invalidOptions(
    token === ""
      ? `tokens[${index}].token is empty: set the environment variable that it is read from, such as CAUSEY_TOKEN`
      : `tokens[${index}].token: expected 16 to 512 printable ASCII characters without spaces`,
  );
}

function checkGrant(token: StaticToken): Principal["grants"][number] {
  const { accounts, gateways } = token;
  const grant = { permissions: checkPermissions(token.permissions), accounts };
  return gateways === undefined ? grant : { ...grant, gateways };
}

/** Narrows permission names from a configuration; throws `ApiError` for a name that does not exist. */
export function checkPermissions(names: readonly string[]): (Permission | "*")[] {
  return names.map((name) => {
    if (name === "*") return "*";
    const known = permissions.find((permission) => permission === name);
    if (known !== undefined) return known;
    const shown = name.slice(0, 64);
    throw invalidOptions(
      `Unknown permission "${shown}"${choiceHint(shown, [...permissions, "*"])}`,
    );
  });
}
