import * as v from "valibot";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { nearest } from "../text/nearest.ts";
import { permissionGroup, permissionGroups } from "./permission-groups.ts";
import { type Permission, permissions } from "./permissions.ts";
import { allows, type Grant, type Principal } from "./principal.ts";

const ACCOUNT_RESOURCE = /^com\.cloudflare\.api\.account\.(\*|[A-Za-z0-9_-]{1,64})$/;

const GATEWAY_RESOURCE = /^com\.cloudflare\.api\.account\.ai-gateway\.(\*|(?!\.+$)[\w.-]{1,64})$/;

const resource = v.pipe(
  v.string(),
  v.regex(
    ACCOUNT_RESOURCE,
    "Unsupported resource: use com.cloudflare.api.account.<account_id> or com.cloudflare.api.account.*",
  ),
);

const gatewayResource = v.pipe(
  v.string(),
  v.regex(
    GATEWAY_RESOURCE,
    "Unsupported resource: use com.cloudflare.api.account.ai-gateway.<gateway_id>",
  ),
);

/** Says which id was meant by one that is none: callers often write the name in its place. */
function unknownGroup(id: string): string {
  const name = nearest(id, permissions);
  const meant = permissionGroups.find((one) => one.name === name);
  return meant === undefined
    ? `Unknown permission group "${id}": see GET /user/tokens/permission_groups`
    : `Unknown permission group "${id}": the id of "${meant.name}" is "${meant.id}"`;
}

/** The part of an account that a policy names: all of it, or some gateways. */
type ResourceScope = "*" | Readonly<Record<string, "*">>;

/** A policy as a client sends it (shapes of the official SDK). A type, not an interface: actors pass it as plain data. */
export type PolicyInput = {
  readonly effect: "allow" | "deny";
  readonly permission_groups: readonly { readonly id: string }[];
  readonly resources: Readonly<Record<string, ResourceScope>>;
};

/** A stored policy. */
export type Policy = PolicyInput & { readonly id: string };

/** Checks one policy: known groups, resources that are accounts, or gateways of them. */
export const policySchema: v.GenericSchema<PolicyInput> = v.pipe(
  v.object({
    effect: v.picklist(["allow", "deny"]),
    permission_groups: v.pipe(
      v.array(
        v.object({
          id: v.pipe(
            v.string(),
            v.check(
              (id) => permissionGroup(id) !== undefined,
              ({ input }) => unknownGroup(input.slice(0, 64)),
            ),
          ),
        }),
      ),
      v.minLength(1),
      v.maxLength(100),
    ),
    resources: v.pipe(
      v.record(
        resource,
        v.union(
          [
            v.literal("*"),
            v.pipe(
              v.record(gatewayResource, v.literal("*")),
              v.check((all) => Object.keys(all).length > 0, "At least one gateway is required"),
              v.check((all) => Object.keys(all).length <= 100, "At most 100 gateways are allowed"),
            ),
          ],
          'The value of a resource must be "*", or {"com.cloudflare.api.account.ai-gateway.<gateway_id>": "*"}',
        ),
      ),
      v.check((all) => Object.keys(all).length > 0, "At least one resource is required"),
      v.check((all) => Object.keys(all).length <= 100, "At most 100 resources are allowed"),
    ),
  }),
  v.check(
    (policy) =>
      scopesOf(policy).every(({ gateways }) => gateways === undefined) ||
      permissionsOf(policy).every((name) => name.startsWith("AI Gateway ")),
    "Gateways can be named for the permissions of AI Gateway only",
  ),
);

/** The grants and denials that stored policies amount to. */
export function grantsOf(policies: readonly PolicyInput[]): { grants: Grant[]; denials: Grant[] } {
  const of = (effect: PolicyInput["effect"]): Grant[] =>
    policies
      .filter((policy) => policy.effect === effect)
      .flatMap((policy) =>
        scopesOf(policy).map(({ account, gateways }): Grant => ({
          permissions: permissionsOf(policy),
          accounts: [account],
          ...(gateways === undefined ? {} : { gateways }),
        })),
      );
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
    for (const { account, gateways } of scopesOf(policy)) {
      if (owner !== "*" && account !== owner) {
        throw invalidRequest(
          `policies: A token of account "${owner}" can only name com.cloudflare.api.account.${owner}`,
        );
      }
      if (policy.effect !== "allow") continue;
      for (const gateway of gateways ?? [undefined])
        checkHeld(permissionsOf(policy), caller, account, gateway);
    }
  }
}

function checkHeld(
  wanted: readonly Permission[],
  caller: Principal,
  account: string,
  gateway: string | undefined,
): void {
  const missing = wanted.find((permission) => !allows(caller, permission, account, gateway));
  if (missing === undefined) return;
  throw new ApiError("forbidden", {
    message: `The token cannot grant "${missing}" on account "${account}", because it does not have this permission itself`,
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

/** An account, and the gateways of it that are meant; undefined = all of the account. */
interface Scope {
  readonly account: string;
  readonly gateways: readonly string[] | undefined;
}

function scopesOf({ resources }: PolicyInput): Scope[] {
  return Object.entries(resources).map(([key, scope]) => ({
    account: ACCOUNT_RESOURCE.exec(key)?.[1] ?? "",
    gateways:
      scope === "*"
        ? undefined
        : Object.keys(scope).map((name) => GATEWAY_RESOURCE.exec(name)?.[1] ?? ""),
  }));
}
