import { openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newKey } from "../../../../core/auth/token-format.ts";
import type { GatewayOptions } from "../../../../core/gateway/entry/options.ts";
import { doubtfulGateways } from "../../../../core/gateway/account/keys/declared-keys.ts";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import type { Platform } from "../../../../core/ports.ts";

let platform: Platform & { close(): Promise<void> };
let ann: string;
let bob: string;

beforeEach(async () => {
  platform = await openPlatform();
  [ann, bob] = [1, 2].map(() => newKey((length) => platform.system.random(length))) as [
    string,
    string,
  ];
});
afterEach(() => platform.close());

/** A process that starts with these options. */
function started(options: Partial<GatewayOptions>) {
  const parts = gatewayParts({ platform, auth: "off", accountId: "acme", ...options });
  const manage = async (path: string, method = "GET", body?: object) => {
    const url = `http://test/accounts/acme/ai-gateway${path}`;
    const headers = { "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await parts.management.fetch(new Request(url, { method, headers, ...sent }));
    const answer = (await response.json()) as { result: never; errors: { message: string }[] };
    return { status: response.status, result: answer.result, message: answer.errors[0]?.message };
  };
  const ask = async (key: string): Promise<number> => {
    const url = "http://test/v1/acme/default/echo/chat/completions";
    const headers = { "cf-aig-authorization": `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hi" }] });
    const request = new Request(url, { method: "POST", headers, body });
    const response = await parts.gateway.fetch(request);
    await response.text();
    return response.status;
  };
  return { manage, ask };
}

const research = {
  limits: [{ limitType: "requests", limit: 2, window: null, technique: "fixed" }],
} as const;

describe("teams and keys of the options", () => {
  it("are said to name a gateway that is nearly another one", () => {
    const virtualKeys = {
      ann: { secret: ann, gateways: ["defualt", "default", "elsewhere"] },
      bob: { secret: bob, gateways: ["suport"] },
    };
    expect(doubtfulGateways({ virtualKeys }, ["support"])).toEqual([
      { key: "ann", gateway: "defualt", meant: "default" },
      { key: "bob", gateway: "suport", meant: "support" },
    ]);
  });

  it("are there from the first request on, and count over a restart", async () => {
    const options = {
      teams: { research },
      virtualKeys: { ann: { secret: ann, team: "research" } },
    };
    const { manage, ask } = started(options);
    expect(await ask(ann)).toBe(200);
    expect((await manage("/teams")).result).toMatchObject([
      { id: "research", name: "research", declared: true, keys: 1, usage: [{ used: 1 }] },
    ]);
    expect((await manage("/virtual-keys/ann")).result).toMatchObject({
      name: "ann",
      team: "research",
      declared: true,
    });
    const again = started(options);
    expect([await again.ask(ann), await again.ask(ann)]).toEqual([200, 429]);
  });

  it("are changed in the options alone", async () => {
    const options = { teams: { research }, virtualKeys: { ann: { secret: ann } } };
    const { manage } = started(options);
    const message = expect.stringContaining("is declared in the configuration");
    for (const [path, method, body] of [
      ["/teams/research", "PATCH", { limits: [] }],
      ["/teams/research", "DELETE", undefined],
      ["/virtual-keys/ann", "PATCH", { enabled: false }],
      ["/virtual-keys/ann/rotate", "POST", {}],
      ["/virtual-keys/ann", "DELETE", undefined],
    ] as const)
      expect(await manage(path, method, body)).toMatchObject({ status: 409, message });
  });

  it("that are taken out of the options are gone; those of the management API stay", async () => {
    const { manage, ask } = started({
      teams: { research, sales: {} },
      virtualKeys: { ann: { secret: ann, team: "research" }, bob: { secret: bob, team: "sales" } },
    });
    const made = (await manage("/virtual-keys", "POST", { name: "carl", team: "sales" }))
      .result as {
      key: string;
    };
    expect([await ask(ann), await ask(bob), await ask(made.key)]).toEqual([200, 200, 200]);
    const next = started({ virtualKeys: { anna: { secret: ann } } });
    expect([await next.ask(ann), await next.ask(bob), await next.ask(made.key)]).toEqual([
      200, 401, 200,
    ]);
    expect((await next.manage("/teams")).result).toMatchObject([{ id: "sales", declared: false }]);
    expect((await next.manage("/virtual-keys/ann")).status).toBe(404);
    expect((await next.manage("/virtual-keys/anna")).status).toBe(200);
    expect(await started({}).ask(ann)).toBe(401);
  });

  it("belong to their own account", async () => {
    const { ask } = started({ virtualKeys: { ann: { secret: ann } } });
    expect(await ask(ann)).toBe(200);
    const other = gatewayParts({
      platform,
      auth: "off",
      accountId: "acme",
      virtualKeys: { ann: { secret: ann } },
    });
    const url = "http://test/v1/other/default/echo/chat/completions";
    const headers = { "cf-aig-authorization": `Bearer ${ann}` };
    const request = new Request(url, { method: "POST", headers, body: "{}" });
    expect((await other.gateway.fetch(request)).status).toBe(401);
  });

  it.each<[string, Partial<GatewayOptions>, string]>([
    [
      "a team that is not declared",
      { teams: { research }, virtualKeys: { ann: { secret: "", team: "reserch" } } },
      'virtualKeys.ann.team: there is no team "reserch" among the declared ones: did you mean "research"?',
    ],
    [
      "a secret of another form",
      { virtualKeys: { ann: { secret: "sk-1" } } },
      "virtualKeys.ann.secret: expected a virtual key",
    ],
    ["an id", { teams: { "A b": {} } }, "teams.A b: expected the id of a team"],
  ])("are checked at the start: %s", (_, options, message) => {
    const secret = (given: string): string => (given === "" ? ann : given);
    const virtualKeys = Object.fromEntries(
      Object.entries(options.virtualKeys ?? {}).map(([id, key]) => [
        id,
        { ...key, secret: secret(key.secret) },
      ]),
    );
    expect(() => started({ ...options, virtualKeys })).toThrow(message);
  });

  it("have a secret each", () => {
    const virtualKeys = { ann: { secret: ann }, bob: { secret: ann } };
    expect(() => started({ virtualKeys })).toThrow('virtualKeys.bob.secret: "ann" has the same');
  });
});
