import * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import { permissionGroup } from "./permission-groups.ts";
import type { Permission } from "./permissions.ts";
import { allows, type Grant, type Principal } from "./principal.ts";

const ACCOUNT_RESOURCE = /^com\.cloudflare\.api\.account\.(\*|[A-Za-z0-9_-]{1,64})$/;

const resource = v.pipe(
  v.string(),
  v.regex(
    ACCOUNT_RESOURCE,
    "Unsupported resource: use com.cloudflare.api.account.<account_id> or com.cloudflare.api.account.*",
  ),
);

/** A policy as a client sends it (shapes of the official SDK). A type, not an interface: actors pass it as plain data. */
export type PolicyInput = {
  readonly effect: "allow" | "deny";
  readonly permission_groups: readonly { readonly id: string }[];
  readonly resources: Readonly<Record<string, "*">>;
};

/** A stored policy. */
export type Policy = PolicyInput & { readonly id: string };

/** Checks one policy: known groups, resources that are accounts. */
export const policySchema: v.GenericSchema<PolicyInput> = v.object({
  effect: v.picklist(["allow", "deny"]),
  permission_groups: v.pipe(
    v.array(
      v.object({
        id: v.pipe(
          v.string(),
          v.check(
            (id) => permissionGroup(id) !== undefined,
            "Unknown permission group: see GET /user/tokens/permission_groups",
          ),
        ),
      }),
    ),
    v.minLength(1),
    v.maxLength(100),
  ),
  resources: v.pipe(
    v.record(resource, v.literal("*", 'The value of a resource must be "*"')),
    v.check((all) => Object.keys(all).length > 0, "At least one resource is required"),
    v.check((all) => Object.keys(all).length <= 100, "At most 100 resources are allowed"),
  ),
});

/** What stored policies mean for a request. */
export function grantsOf(policies: readonly PolicyInput[]): { grants: Grant[]; denials: Grant[] } {
  const of = (effect: PolicyInput["effect"]): Grant[] =>
    policies
      .filter((policy) => policy.effect === effect)
      .map((policy) => ({ permissions: permissionsOf(policy), accounts: accountsOf(policy) }));
  return { grants: of("allow"), denials: of("deny") };
}

/**
 * Refuses policies that reach beyond `owner` (an account's token stays inside its account) or beyond
 * what the caller holds itself, so that no token can make a stronger one. Throws 400 and 403.
 */
export function checkPolicies(
  policies: readonly PolicyInput[],
  caller: Principal,
  owner: string,
): void {
  for (const policy of policies) {
    for (const account of accountsOf(policy)) {
      if (owner !== "*" && account !== owner) {
        throw new ApiError("invalid_request", {
          message: `policies: A token of account "${owner}" can only name com.cloudflare.api.account.${owner}`,
        });
      }
      if (policy.effect === "allow") checkHeld(permissionsOf(policy), caller, account);
    }
  }
}

function checkHeld(wanted: readonly Permission[], caller: Principal, account: string): void {
  const missing = wanted.find((permission) => !allows(caller, permission, account));
  if (missing === undefined) return;
  throw new ApiError("forbidden", {
    message: `The token cannot grant "${missing}" on account "${account}" because it lacks it itself`,
  });
}

/** The wire form: groups with their names. */
export function showPolicy(policy: Policy): Record<string, unknown> {
  return {
    id: policy.id,
    effect: policy.effect,
    permission_groups: policy.permission_groups.map(({ id }) => ({
      id,
      name: permissionGroup(id)?.name ?? id,
    })),
    resources: policy.resources,
  };
}

function permissionsOf(policy: PolicyInput): Permission[] {
  return policy.permission_groups.flatMap(({ id }) => permissionGroup(id)?.name ?? []);
}

function accountsOf(policy: PolicyInput): string[] {
  return Object.keys(policy.resources).map((key) => ACCOUNT_RESOURCE.exec(key)?.[1] ?? "");
}
