import { openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../../core/api.ts";
import { permissionGroups } from "../../../../core/auth/permission-groups.ts";
import type { Platform } from "../../../../core/ports.ts";
import { chat, jsonInit, requiredSettings } from "../../../fakes/gateway-app.ts";

const ROOT = "root-token-with-every-permission";
const SCOPED = "scoped-token-of-the-configuration";

let platform: Platform;
let api: PlatformApi;
beforeEach(async () => {
  platform = await openPlatform();
  api = platformApi({
    platform,
    accountId: "acme",
    demo: true,
    tokens: [
      { token: ROOT, permissions: ["*"], accounts: ["*"] },
      { token: SCOPED, permissions: ["*"], accounts: ["acme"], gateways: ["a"] },
    ],
  });
  for (const id of ["a", "b"]) {
    const made = await call("/accounts/acme/ai-gateway/gateways", ROOT, {
      ...requiredSettings,
      id,
      authentication: true,
    });
    expect(made.status).toBe(200);
  }
});
afterEach(() => platform.close());

function call(path: string, token: string, body?: unknown, method = "POST"): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` };
  const init = body === undefined ? { headers } : { method, ...jsonInit(body, headers) };
  return Promise.resolve(api.request(`/client/v4${path}`, init));
}
const ask = (gateway: string, token: string) =>
  api.request(`/v1/acme/${gateway}/echo/chat/completions`, {
    method: "POST",
    ...jsonInit(chat, { "cf-aig-authorization": `Bearer ${token}` }),
  });
const infer = (gateway: string, token: string) =>
  api.request("/client/v4/accounts/acme/ai/v1/chat/completions", {
    method: "POST",
    ...jsonInit(
      { ...chat, model: "echo/m" },
      { authorization: `Bearer ${token}`, "cf-aig-gateway-id": gateway },
    ),
  });
const idOf = (name: string) => ({ id: permissionGroups.find((one) => one.name === name)?.id });
const policy = (permission: string, gateways: readonly string[] | null, effect = "allow") => ({
  effect,
  permission_groups: [idOf(permission)],
  resources: {
    "com.cloudflare.api.account.acme":
      gateways === null
        ? "*"
        : Object.fromEntries(
            gateways.map((id) => [`com.cloudflare.api.account.ai-gateway.${id}`, "*"]),
          ),
  },
});
async function make(policies: readonly object[], by = ROOT): Promise<string> {
  const made = await call("/accounts/acme/tokens", by, { name: "scoped", policies });
  const { result } = (await made.json()) as { result: { value: string } | null };
  if (result === null) throw new Error(String(made.status));
  return result.value;
}

describe("a token of one gateway", () => {
  it.each(["the configuration", "the API"])("made by %s opens that one", async (by) => {
    const token =
      by === "the API"
        ? await make([policy("AI Gateway Run", ["a"]), policy("AI Gateway Edit", ["a"])])
        : SCOPED;
    const statuses = [];
    for (const gateway of ["a", "b", "default"]) {
      statuses.push((await ask(gateway, token)).status);
      statuses.push((await infer(gateway, token)).status);
    }
    expect(statuses).toEqual([200, 200, 401, 403, 401, 403]);
  });

  it.each(["the configuration", "the API"])("made by %s manages that one alone", async (by) => {
    const token = by === "the API" ? await make([policy("AI Gateway Edit", ["a"])]) : SCOPED;
    const root = "/accounts/acme/ai-gateway";
    for (const path of ["", "/logs", "/provider_configs", "/routes"]) {
      expect((await call(`${root}/gateways/a${path}`, token)).status).toBe(200);
      expect((await call(`${root}/gateways/b${path}`, token)).status).toBe(403);
    }
    expect((await call(`${root}/gateways/a`, token, requiredSettings, "PUT")).status).toBe(200);
    expect((await call(`${root}/gateways/b`, token, requiredSettings, "PUT")).status).toBe(403);
    for (const path of ["/gateways", "/custom-providers", "/virtual-keys"])
      expect((await call(root + path, token)).status).toBe(403);
    expect((await call(`${root}/gateways`, token, { ...requiredSettings, id: "c" })).status).toBe(
      403,
    );
    expect((await call("/accounts/acme/tokens", token)).status).toBe(403);
  });

  it("is taken out of a wider one by a deny", async () => {
    const token = await make([
      policy("AI Gateway Run", null),
      policy("AI Gateway Run", ["b"], "deny"),
    ]);
    expect([(await ask("a", token)).status, (await ask("b", token)).status]).toEqual([200, 401]);
  });

  it("cannot make a token of another gateway, nor of all", async () => {
    const maker = await make([policy("AI Gateway Run", ["a"]), policy("API Tokens Edit", null)]);
    expect(await make([policy("AI Gateway Run", ["a"])], maker)).toMatch(/^causey_/);
    for (const gateways of [["b"], ["a", "b"], ["*"], null])
      await expect(make([policy("AI Gateway Run", gateways)], maker)).rejects.toThrow("403");
  });

  it.each([
    ["of another capability", policy("AI Search Run", ["a"])],
    ["without a gateway", policy("AI Gateway Run", [])],
    ["with a name that is none", policy("AI Gateway Run", ["a/b"])],
  ])("is not made %s", async (_, wrong) => {
    await expect(make([wrong])).rejects.toThrow("400");
  });
});
