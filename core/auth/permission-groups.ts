import type { Permission } from "./permissions.ts";

/** A permission as the token routes show it. */
export interface PermissionGroup {
  readonly id: string;
  readonly name: Permission;
  readonly category: "account_and_billing" | "ai_and_machine_learning" | "developer_platform";
  readonly scopes: readonly ["com.cloudflare.api.account"];
}

const group = (
  id: string,
  name: Permission,
  category: PermissionGroup["category"],
): PermissionGroup => ({ id, name, category, scopes: ["com.cloudflare.api.account"] });

/**
 * Every permission with its id. An id is the first 32 hexadecimal digits of the SHA-256 of
 * `causey.permission:` and the name, written out so that it can never change by accident.
 */
export const permissionGroups: readonly PermissionGroup[] = [
  group("3d2096bdd632a04163943fae7a3adfb4", "AI Gateway Read", "ai_and_machine_learning"),
  group("26aaf17db0db4142b2fb39cbc14f3dd4", "AI Gateway Edit", "ai_and_machine_learning"),
  group("6fefe3e6a4ba52d67ff0bedeb32512bc", "AI Gateway Run", "ai_and_machine_learning"),
  group("4931e9fdba24ed3c3f0e112db0956e75", "AI Search Read", "ai_and_machine_learning"),
  group("7b81a771b173eccaf2e742d49afd2137", "AI Search Edit", "ai_and_machine_learning"),
  group("3d62ca82dd4a8e95c84d15ed58958feb", "AI Search Run", "ai_and_machine_learning"),
  group("0ab28da340416c79fcd5736612351a1e", "Browser Rendering Edit", "developer_platform"),
  group("a65779ac313917e89a8c252e54f50bc9", "Webhooks Read", "developer_platform"),
  group("e1c962eb713357ec77058a895bbb66e8", "Webhooks Edit", "developer_platform"),
  group("f3d7cd4f318c6e44eef70e48f4c5f6ce", "Agents Read", "developer_platform"),
  group("96a815cfedb5b5a5f198da3e356e5fbf", "Agents Edit", "developer_platform"),
  group("20f806ed63970e08bf7041fb3baf437a", "Account Read", "account_and_billing"),
  group("a0970fcc00691c308e97d8a08e3e6ef6", "Deprecations Edit", "account_and_billing"),
  group("a74722d66c6beafaf9734b4f84be9f26", "API Tokens Read", "account_and_billing"),
  group("2b1876e7b59f1790ab1148e3f3877df5", "API Tokens Edit", "account_and_billing"),
];

const byId: ReadonlyMap<string, PermissionGroup> = new Map(
  permissionGroups.map((one) => [one.id, one]),
);

/** The permission group with this id. */
export function permissionGroup(id: string): PermissionGroup | undefined {
  return byId.get(id);
}
