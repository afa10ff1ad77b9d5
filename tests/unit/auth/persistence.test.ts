import { openPlatform } from "#platform";
import { describe, expect, it } from "vitest";
import { auth, storedTokens } from "../../../core/auth/mod.ts";
import { permissionGroups } from "../../../core/auth/permission-groups.ts";
import { tokenStore } from "../../../core/auth/token-store.ts";
import type { Platform } from "../../../core/ports.ts";

const ROOT = "root-token-of-the-configuration";
const groups = [{ id: permissionGroups.find(({ name }) => name === "AI Search Run")!.id }];
const resources = { "com.cloudflare.api.account.local": "*" };
const input = {
  name: "kept",
  policies: [{ effect: "allow", permission_groups: groups, resources }],
};

async function call(
  platform: Platform,
  method: string,
  path: string,
  token: string,
  body?: unknown,
) {
  const tokens = [{ token: ROOT, permissions: ["*" as const], accounts: ["*"] }];
  const app = auth({ platform, auth: storedTokens(platform, { tokens }) });
  const response = await app.request(path, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // An object, but for a rolled token, whose result is the secret itself.
  const { result } = (await response.json()) as { result: never };
  return {
    status: response.status,
    result: result as Record<string, string>,
    text: result as string,
  };
}

describe("API tokens", () => {
  it("work, stay changed and stay deleted after a restart", async () => {
    const data = `auth-${crypto.randomUUID()}`;
    const first = await openPlatform({ data });
    const kept = (await call(first, "POST", "/user/tokens", ROOT, input)).result;
    const rolled = (await call(first, "POST", "/user/tokens", ROOT, input)).result;
    const gone = (await call(first, "POST", "/user/tokens", ROOT, input)).result;
    await call(first, "GET", "/user/tokens/verify", kept["value"]!);
    const fresh = await call(first, "PUT", `/user/tokens/${rolled["id"]}/value`, ROOT);
    await call(first, "DELETE", `/user/tokens/${gone["id"]}`, ROOT);
    await first.close();

    const second = await openPlatform({ data });
    const status = async (token: string): Promise<number> =>
      (await call(second, "GET", "/user/tokens/verify", token)).status;
    expect(await status(kept["value"]!)).toBe(200);
    expect(await status(rolled["value"]!)).toBe(401);
    expect(await status(fresh.text)).toBe(200);
    expect(await status(gone["value"]!)).toBe(401);
    const seen = (await call(second, "GET", `/user/tokens/${kept["id"]}`, ROOT)).result;
    const { value: _, ...shown } = kept;
    expect(seen).toMatchObject(shown);
    expect(seen["last_used_on"]).toMatch(/^\d{4}-.*Z$/);
    await second.close();
  });

  it("refuse an update of a version that is gone: it must not revive a rolled or deleted secret", async () => {
    const platform = await openPlatform();
    const { result } = await call(platform, "POST", "/user/tokens", ROOT, input);
    const store = tokenStore(platform);
    const seen = (await store.get(null, result["id"]!))!;
    const rolled = { ...seen, hash: "0".repeat(64), modifiedOn: seen.modifiedOn + 1 };
    await store.replace(rolled, seen.modifiedOn);
    const conflict = { status: 409 };
    await expect(store.replace({ ...seen, name: "late" }, seen.modifiedOn)).rejects.toMatchObject(
      conflict,
    );
    await store.remove("*", seen.id);
    await expect(
      store.replace({ ...rolled, name: "late" }, rolled.modifiedOn),
    ).rejects.toMatchObject(conflict);
    expect(await store.list("*")).toEqual([]);
    await platform.close();
  });
});
