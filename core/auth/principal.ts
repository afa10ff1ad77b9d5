import type { Permission } from "./permissions.ts";

/** Permissions on accounts; `"*"` stands for all of them. */
export interface Grant {
  readonly permissions: readonly (Permission | "*")[];
  readonly accounts: readonly string[];
  /** Ids of gateways, `"*"` for all of them: then the grant is good for requests about those and nothing else. @default everything of the accounts */
  readonly gateways?: readonly string[];
}

/** The identity that makes a request, with its permissions. */
export interface Principal {
  /** The token's id or the subject of the JWT; never the secret. */
  readonly id: string;
  readonly kind: "token" | "jwt";
  /** The token's name, as its owner chose it. @default it has none */
  readonly name?: string;
  readonly grants: readonly Grant[];
  /** Exceptions from the grants (policies with the effect `deny`). @default [] */
  readonly denials?: readonly Grant[];
}

/** A principal that reads something, or `"host"` where the host authenticates, which may see everything. */
export type Viewer = Principal | "host";

/**
 * Whether a principal holds a permission on an account, or on one gateway of it; `"*"` asks for all accounts, or
 * gateways, at once.
 */
export function allows(
  principal: Principal,
  permission: Permission,
  account: string,
  gateway?: string,
): boolean {
  const held = principal.grants.some(
    (grant) =>
      covers(grant.permissions, implied(permission)) &&
      covers(grant.accounts, [account]) &&
      (grant.gateways === undefined ||
        (gateway !== undefined && covers(grant.gateways, [gateway]))),
  );
  const denials = principal.denials ?? [];
  return held && !denials.some((denial) => denies(denial, permission, account, gateway));
}

/** Whether a principal holds any permission on an account. */
export function reaches({ grants }: Pick<Principal, "grants">, account: string): boolean {
  return grants.some(({ accounts }) => covers(accounts, [account]));
}

function denies(
  denial: Grant,
  permission: Permission,
  account: string,
  gateway: string | undefined,
): boolean {
  if (!covers(denial.permissions, denied(permission))) return false;
  if (denial.gateways !== undefined) {
    if (!permission.startsWith("AI Gateway ")) return false;
    // A principal that is denied one gateway does not hold the permission on all of them, nor on the account.
    const isOther = gateway !== undefined && gateway !== "*" && !covers(denial.gateways, [gateway]);
    if (isOther) return false;
  }
  // A principal that is denied one account does not hold the permission on all of them.
  return account === "*" || covers(denial.accounts, [account]);
}

function covers(granted: readonly string[], wanted: readonly string[]): boolean {
  return granted.includes("*") || wanted.some((one) => granted.includes(one));
}

/** Edit includes Read, as on the hosted platform; Run stands alone. */
function implied(permission: Permission): readonly string[] {
  return permission.endsWith(" Read")
    ? [permission, permission.replace(/ Read$/, " Edit")]
    : [permission];
}

/** Conversely, a denial of Read also denies Edit, which would include it. */
function denied(permission: Permission): readonly string[] {
  return permission.endsWith(" Edit")
    ? [permission, permission.replace(/ Edit$/, " Read")]
    : [permission];
}
