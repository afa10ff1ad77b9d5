import fc from "fast-check";
import type { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { auth, storedTokens } from "../../../core/auth/mod.ts";
import { permissionGroups } from "../../../core/auth/permission-groups.ts";
import type { Permission } from "../../../core/auth/permissions.ts";
import { fakePlatform, type ManualClock } from "../../fakes/auth-platform.ts";

const ROOT = "root-token-of-the-configuration";
const LOCAL = "token-of-one-account";

interface Setup {
  readonly app: Hono;
  readonly clock: ManualClock;
  call(method: string, path: string, token?: string | null, body?: unknown): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  /** `result` as an object, as a list and as a text: tests know which one it is. */
  readonly result: Readonly<Record<string, string>>;
  readonly text: string;
  readonly list: readonly Record<string, string>[];
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly info: Record<string, number> | undefined;
}

function setup(): Setup {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const platform = fakePlatform(clock);
  const app = auth({
    platform,
    auth: storedTokens(platform, {
      tokens: [
        { token: ROOT, permissions: ["*"], accounts: ["*"] },
        { token: LOCAL, permissions: ["API Tokens Edit", "AI Search Run"], accounts: ["local"] },
      ],
    }),
  });
  return {
    app,
    clock,
    async call(method, path, token = ROOT, body) {
      const response = await app.request(path, {
        method,
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as Omit<Answer, "status"> & {
        result_info?: Answer["info"];
      };
      const { result, errors, result_info: info } = answer;
      const [text, list] = [result as never, result as never];
      return { status: response.status, result, text, list, errors, info };
    },
  };
}

function policy(
  names: readonly Permission[],
  account = "local",
  effect = "allow",
): Record<string, unknown> {
  return {
    effect,
    permission_groups: names.map((name) => ({
      id: permissionGroups.find((one) => one.name === name)!.id,
    })),
    resources: { [`com.cloudflare.api.account.${account}`]: "*" },
  };
}

describe("token routes", () => {
  it("create a token whose value is shown once and works", async () => {
    const { call } = setup();
    const body = {
      name: "ci",
      policies: [policy(["AI Search Run"])],
      expires_on: "2027-01-01T00:00:00Z",
    };
    const made = await call("POST", "/user/tokens", ROOT, body);
    expect(made.status).toBe(200);
    expect(made.result["value"]).toMatch(/^causey_/);
    const seen = await call("GET", `/user/tokens/${made.result["id"]}`);
    expect(seen.result).toMatchObject({
      name: "ci",
      status: "active",
      expires_on: "2027-01-01T00:00:00Z",
    });
    expect(seen.result).not.toHaveProperty("value");
    expect(JSON.stringify(seen.result)).not.toContain("hash");
    const verified = await call("GET", "/user/tokens/verify", made.result["value"]);
    expect(verified.result).toEqual({
      id: made.result["id"],
      status: "active",
      expires_on: "2027-01-01T00:00:00Z",
    });
  });

  it("answer 401 with code 10000 without a token, with a bad one and with a mistyped one", async () => {
    const { call } = setup();
    const made = await call("POST", "/user/tokens", ROOT, {
      name: "x",
      policies: [policy(["AI Search Run"])],
    });
    const value = String(made.result["value"]);
    for (const token of [null, "nope", `${value}0`, value.slice(0, -1), "a.b.c"]) {
      const answer = await call("GET", "/user/tokens/verify", token);
      expect([answer.status, answer.errors[0]?.code]).toEqual([401, 10000]);
    }
  });

  it("stop accepting a token when it expires, is disabled, rolled or deleted, and before its time", async () => {
    const { call, clock } = setup();
    const times = { not_before: "2026-01-02T00:00:00Z", expires_on: "2026-01-03T00:00:00+00:00" };
    const body = { name: "x", policies: [policy(["AI Search Run"])], ...times };
    const { result } = await call("POST", "/user/tokens", ROOT, body);
    const path = `/user/tokens/${result["id"]}`;
    let value: string = result["value"]!;
    const works = async (): Promise<boolean> =>
      (await call("GET", "/user/tokens/verify", value)).status === 200;
    expect(await works()).toBe(false);
    clock.now = Date.UTC(2026, 0, 2);
    expect(await works()).toBe(true);
    await call("PUT", path, ROOT, { ...body, status: "disabled" });
    expect(await works()).toBe(false);
    await call("PUT", path, ROOT, { ...body, status: "active" });
    expect(await works()).toBe(true);
    const rolled = await call("PUT", `${path}/value`);
    expect(await works()).toBe(false);
    value = rolled.text;
    expect(await works()).toBe(true);
    clock.now = Date.UTC(2026, 0, 3) - 1;
    expect(await works()).toBe(true);
    clock.now++;
    expect(await works()).toBe(false);
    expect((await call("GET", "/user/tokens")).list).toEqual([]);
    expect((await call("GET", "/user/tokens?include_expired=true")).list).toMatchObject([
      { status: "expired" },
    ]);
    await call("PUT", path, ROOT, { ...body, expires_on: null });
    expect(await works()).toBe(true);
    expect((await call("DELETE", path)).result).toEqual({ id: result["id"] });
    expect(await works()).toBe(false);
    expect((await call("GET", path)).status).toBe(404);
  });

  it("list pages, newest first, and an empty one past the end", async () => {
    const { call, clock } = setup();
    for (let i = 0; i < 5; i++) {
      clock.now++;
      await call("POST", "/user/tokens", ROOT, {
        name: `t${i}`,
        policies: [policy(["AI Search Run"])],
      });
    }
    const names = async (query: string): Promise<unknown> =>
      (await call("GET", `/user/tokens${query}`)).list.map((token) => token["name"]);
    expect(await names("?per_page=2")).toEqual(["t4", "t3"]);
    expect(await names("?per_page=2&page=3")).toEqual(["t0"]);
    expect(await names("?per_page=2&page=4")).toEqual([]);
    expect(await names("?direction=asc&per_page=1")).toEqual(["t0"]);
    expect((await call("GET", "/user/tokens?per_page=2&page=3")).info).toEqual({
      page: 3,
      per_page: 2,
      count: 1,
      total_count: 5,
    });
    for (const bad of ["page=0", "page=-1", "per_page=1e9", "per_page=x", "direction=up"]) {
      expect((await call("GET", `/user/tokens?${bad}`)).status).toBe(400);
    }
  });

  it("keep the tokens of an account apart from the others", async () => {
    const { call } = setup();
    const body = { name: "mine", policies: [policy(["AI Search Run"])] };
    const made = await call("POST", "/accounts/local/tokens", LOCAL, body);
    expect(made.status).toBe(200);
    const id = made.result["id"];
    expect((await call("GET", `/accounts/local/tokens/${id}`, LOCAL)).status).toBe(200);
    expect((await call("GET", `/accounts/other/tokens/${id}`)).status).toBe(404);
    expect((await call("DELETE", `/user/tokens/${id}`)).status).toBe(404);
    expect((await call("GET", "/accounts/other/tokens", LOCAL)).status).toBe(403);
    expect((await call("GET", "/user/tokens", LOCAL)).status).toBe(403);
    expect((await call("GET", "/accounts/local/tokens/verify", made.result["value"])).status).toBe(
      200,
    );
  });
});

describe("no token makes a stronger one", () => {
  it("refuses permissions and accounts that the creator lacks", async () => {
    const { call } = setup();
    const make = (one: unknown) =>
      call("POST", "/accounts/local/tokens", LOCAL, { name: "x", policies: [one] });
    expect((await make(policy(["AI Search Run"]))).status).toBe(200);
    expect((await make(policy(["API Tokens Read"]))).status).toBe(200);
    const lacking = await make(policy(["AI Search Run", "AI Gateway Run"]));
    expect([lacking.status, lacking.errors[0]?.message]).toEqual([
      403,
      expect.stringContaining("AI Gateway Run"),
    ]);
    expect((await make(policy(["AI Search Run"], "other"))).status).toBe(400);
    expect((await make(policy(["AI Search Run"], "*"))).status).toBe(400);
  });

  it("refuses to update or roll a token into the hands of a weaker one", async () => {
    const { call } = setup();
    const strong = { name: "strong", policies: [policy(["AI Gateway Run"])] };
    const { result } = await call("POST", "/accounts/local/tokens", ROOT, strong);
    const path = `/accounts/local/tokens/${result["id"]}`;
    expect((await call("PUT", `${path}/value`, LOCAL)).status).toBe(403);
    expect((await call("PUT", path, LOCAL, strong)).status).toBe(403);
    expect((await call("GET", "/user/tokens/verify", result["value"])).status).toBe(200);
  });

  it("keeps a denial: a token that is denied an account cannot grant all of them", async () => {
    const { call } = setup();
    const policies = [
      policy(["API Tokens Edit", "AI Search Run"], "*"),
      policy(["AI Search Run"], "secret", "deny"),
    ];
    const { result } = await call("POST", "/user/tokens", ROOT, { name: "all but one", policies });
    const make = (one: unknown) =>
      call("POST", "/user/tokens", result["value"], { name: "x", policies: [one] });
    expect((await make(policy(["AI Search Run"], "*"))).status).toBe(403);
    expect((await make(policy(["AI Search Run"], "secret"))).status).toBe(403);
    expect((await make(policy(["AI Search Run"], "open"))).status).toBe(200);
  });
});

describe("token bodies", () => {
  const bad: [string, unknown][] = [
    ["no name", { policies: [policy(["AI Search Run"])] }],
    ["no policies", { name: "x", policies: [] }],
    [
      "an unknown group",
      { name: "x", policies: [{ ...policy([]), permission_groups: [{ id: "x" }] }] },
    ],
    ["no resources", { name: "x", policies: [{ ...policy(["AI Search Run"]), resources: {} }] }],
    [
      "a zone",
      {
        name: "x",
        policies: [
          { ...policy(["AI Search Run"]), resources: { "com.cloudflare.api.account.zone.1": "*" } },
        ],
      },
    ],
    [
      "31 February",
      { name: "x", policies: [policy(["AI Search Run"])], expires_on: "2026-02-31T00:00:00Z" },
    ],
    [
      "a time without zone",
      { name: "x", policies: [policy(["AI Search Run"])], expires_on: "2026-02-03T00:00:00" },
    ],
    [
      "an end in the past",
      { name: "x", policies: [policy(["AI Search Run"])], expires_on: "2020-01-01T00:00:00Z" },
    ],
    [
      "an end before the start",
      {
        name: "x",
        policies: [policy(["AI Search Run"])],
        not_before: "2027-01-01T00:00:00Z",
        expires_on: "2026-01-01T00:00:00Z",
      },
    ],
    [
      "a restriction by address",
      {
        name: "x",
        policies: [policy(["AI Search Run"])],
        condition: { request_ip: { in: ["10.0.0.0/8"] } },
      },
    ],
  ];
  it.each(bad)("with %s are refused with 400", async (_, body) => {
    const { call } = setup();
    const answer = await call("POST", "/user/tokens", ROOT, body);
    expect(answer.status).toBe(400);
    expect(answer.errors[0]?.message).toBeTruthy();
  });
});

describe("account ids of a path", () => {
  const impossible = ["*", "a%2Fb", "..%2f", "a".repeat(65), "%00", "%ZZ", "%C3%A9", "a%20b"];
  it.each(impossible)("%s is refused with 400, however much the token may do", async (id) => {
    const { call } = setup();
    expect((await call("GET", `/accounts/${id}/tokens`)).status).toBe(400);
    expect((await call("GET", `/accounts/${id}`)).status).toBe(400);
    expect((await call("GET", `/accounts/${id}/tokens`, null)).status).toBe(401);
  });
});

describe("hostile requests", () => {
  const methods = ["GET", "POST", "PUT", "DELETE"] as const;
  const segment = fc.constantFrom(
    "user",
    "accounts",
    "tokens",
    "verify",
    "value",
    "*",
    "..",
    "%",
    "%2F",
    "é",
    "local",
  );

  it("never get a 5xx, and always the envelope", async () => {
    const { app } = setup();
    const bodies = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .record({ name: fc.json(), policies: fc.array(fc.dictionary(fc.string(), fc.jsonValue())) })
        .map((value) => JSON.stringify(value)),
      fc.constant(
        `{"name":"x","policies":[{"effect":"allow","permission_groups":[],"resources":{"__proto__":"*"}}]}`,
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...methods),
        fc.array(segment, { maxLength: 5 }),
        bodies,
        fc.constantFrom(ROOT, LOCAL, "", "x".repeat(9000)),
        async (method, segments, body, token) => {
          const response = await app.request(`/${segments.join("/")}`, {
            method,
            headers: { authorization: `Bearer ${token}` },
            ...(method === "GET" ? {} : { body }),
          });
          expect(response.status).toBeLessThan(500);
          if (response.headers.get("content-type")?.startsWith("application/json") === true) {
            expect(await response.json()).toHaveProperty("success", response.ok);
          } else {
            // Hono's own 404: nothing of ours is mounted there.
            expect(response.status).toBe(404);
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe("accounts", () => {
  it("are those that the token may read", async () => {
    const { call } = setup();
    const { result } = await call("POST", "/user/tokens", ROOT, {
      name: "reader",
      policies: [policy(["Account Read"], "acme"), policy(["AI Search Run"], "local")],
    });
    const ids = async (token: string): Promise<unknown> =>
      (await call("GET", "/accounts", token)).list.map((account) => account["id"]);
    expect(await ids(result["value"]!)).toEqual(["acme"]);
    expect(await ids(ROOT)).toEqual(["local"]);
    expect((await call("GET", "/accounts/acme", result["value"])).result).toEqual({
      id: "acme",
      name: "acme",
      type: "standard",
    });
    expect((await call("GET", "/accounts/local", result["value"])).status).toBe(403);
  });
});

describe("storedTokens()", () => {
  it("refuses unknown permissions, and tokens that are empty or could be guessed", () => {
    const platform = fakePlatform({ now: 0 });
    const make = (token: string, permission: string) => () =>
      // As a program without types may call it.
      storedTokens(platform, {
        tokens: [{ token, permissions: [permission as "*"], accounts: ["*"] }],
      });
    const good = "sixteen-or-more-chars";
    expect(make(good, "AI Serch Run")).toThrow('did you mean "AI Search Run"?');
    expect(make("", "*")).toThrow(
      "tokens[0].token is empty: set the environment variable that it is read from, such as CAUSEY_TOKEN",
    );
    expect(make("two words that are long", "*")).toThrow("printable ASCII");
    expect(make("a", "*")).toThrow("tokens[0].token: expected 16 to 512");
    expect(make("fifteen-chars-x", "*")).toThrow("tokens[0].token: expected 16 to 512");
    expect(make(good, "*")).not.toThrow();
  });
});
