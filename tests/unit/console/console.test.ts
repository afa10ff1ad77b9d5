import { openPlatform } from "#platform";
import { Hono } from "hono";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { webConsole } from "../../../core/console/mod.ts";
import { accountUsage } from "../../../core/console/usage.ts";
import type { ActorNodes, Actors, Platform } from "../../../core/ports.ts";

const TOKEN = "token-of-the-operator-0123";
const READER = "token-of-a-reader-01234567";
const own = { "x-causey-console": "1", "content-type": "application/json" };

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

/** How far the console's clock is ahead, in ms. */
interface Clock {
  ahead: number;
}

async function setup(
  options: object = {},
  clock: Clock = { ahead: 0 },
  nodes?: ActorNodes,
): Promise<PlatformApi> {
  const platform = await openPlatform();
  opened.push(platform);
  const actors: Actors = nodes === undefined ? platform.actors : withNodes(platform.actors, nodes);
  const system = { ...platform.system, now: () => platform.system.now() + clock.ahead };
  return platformApi({
    platform: { ...platform, actors, system },
    demo: true,
    console: webConsole,
    metrics: true,
    tokens: [
      { token: TOKEN, permissions: ["*"], accounts: ["*"] },
      { token: READER, permissions: ["AI Search Read"], accounts: ["*"] },
    ],
    ...options,
  });
}

function withNodes(actors: Actors, nodes: ActorNodes): Actors {
  return { define: (kind) => actors.define(kind), get: (...of) => actors.get(...of), nodes };
}

const post = (json: unknown, headers: object = own): RequestInit => ({
  method: "POST",
  headers: { ...headers },
  body: JSON.stringify(json),
});

/** Logs in; the cookie as a browser sends it back. */
async function logIn(
  api: PlatformApi,
  body: object,
): Promise<{ status: number; cookie: string; header: string }> {
  const response = await api.request("/console/session", post(body));
  const header = response.headers.get("set-cookie") ?? "";
  return { status: response.status, cookie: header.split(";")[0] ?? "", header };
}

async function linkCode(api: PlatformApi, token: string = TOKEN): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await api.request("/console/links", { method: "POST", headers });
  const { path } = (await response.json()) as { path: string };
  return path.replace("/console#login=", "");
}

describe("the console's page", () => {
  it("is served with a policy that lets nothing but its own files run", async () => {
    const api = await setup();
    const page = await api.request("/console", { headers: { accept: "text/html" } });
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
    );
    const text = await page.text();
    expect(text).not.toMatch(/<script>|https?:/);
    const script = await api.request("/console/app.js", { headers: { "accept-encoding": "gzip" } });
    expect(script.headers.get("content-encoding")).toBe("gzip");
    const etag = script.headers.get("etag") ?? "";
    const bytes = (await script.arrayBuffer()).byteLength;
    expect(bytes).toBeLessThan(150_000);
    const again = await api.request("/console/app.js", { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
  });

  it("is where a browser at the root is led, and nobody else", async () => {
    const api = await setup();
    const browser = await api.request("/", { headers: { accept: "text/html,*/*" } });
    expect(browser.status).toBe(302);
    expect(browser.headers.get("location")).toBe("/console");
    expect((await api.request("/")).status).toBe(404);
  });

  it("is not there where it is off", async () => {
    const api = await setup({ console: false });
    expect((await api.request("/console")).status).toBe(404);
    expect((await api.request("/console/session", post({ token: TOKEN }))).status).toBe(404);
  });

  it("leads to where a host has put it", async () => {
    const api = await setup({ mountPath: "/platform" });
    expect(await (await api.request("/console")).text()).toContain('"/platform/console/app.js"');
    expect((await logIn(api, { token: TOKEN })).header).toContain("Path=/platform/console;");
  });
});

/** The ways to put the console below a path, each with the address at which browsers find it. */
const hosts: readonly (readonly [string, string, () => Promise<Pick<Hono, "request">>])[] = [
  ["app.route()", "/platform", async () => new Hono().route("/platform", await setup())],
  [
    "app.route() at a parameter",
    "/t/a%20b",
    async () => new Hono().route("/t/:tenant", await setup()),
  ],
  [
    "app.mount()",
    "/platform",
    async () => new Hono().mount("/platform", (await setup({ mountPath: "/platform" })).fetch),
  ],
  [
    "app.route() below app.mount()",
    "/a/b",
    async () => {
      const inner = new Hono().route("/b", await setup({ mountPath: "/a" }));
      return new Hono().mount("/a", inner.fetch);
    },
  ],
];

describe.each(hosts)("the console below a path by %s (%s)", (_, path, open) => {
  it("serves its page, its session and the API there", async () => {
    const app = await open();
    const home = `http://localhost${path}`;
    const browser = await app.request(home, { headers: { accept: "text/html" } });
    // Hono's `mount()` asks for a slash behind its path.
    if (browser.status !== 404) expect(browser.headers.get("location")).toBe(`${path}/console`);
    const page = await app.request(`${home}/console`);
    expect(await page.text()).toContain(`"${path}/console/app.js"`);
    expect((await app.request(`${home}/console/app.js`)).status).toBe(200);
    const login = await app.request(`${home}/console/session`, post({ token: TOKEN }));
    const header = login.headers.get("set-cookie") ?? "";
    expect(header).toContain(`; Path=${path}/console;`);
    const cookie = header.split(";")[0] ?? "";
    const asked = (route: string, init: RequestInit = {}) =>
      app.request(`${home}/console/${route}`, { headers: { ...own, cookie }, ...init });
    expect(await (await asked("session")).json()).toMatchObject({ account: "local" });
    const list = await asked("api/client/v4/accounts/local/webhooks/dead-letters?limit=1");
    expect(await list.json()).toMatchObject({ success: true, result: [] });
    const chat = { model: "echo", messages: [{ role: "user", content: "Hello" }] };
    const answer = await asked(
      "api/v1/local/default/echo/chat/completions",
      post(chat, { ...own, cookie }),
    );
    expect(answer.status).toBe(200);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const link = await app.request(`${home}/console/links`, { method: "POST", headers });
    expect(((await link.json()) as { path: string }).path).toContain(`${path}/console#login=`);
    const ended = await asked("session", { method: "DELETE", headers: { ...own, cookie } });
    expect(ended.headers.get("set-cookie")).toContain(`; Path=${path}/console;`);
  });
});

describe("a session of the console", () => {
  it("is a cookie that no script reads, no other site sends, and that shows no token", async () => {
    const api = await setup();
    const { status, header, cookie } = await logIn(api, { token: TOKEN });
    expect(status).toBe(200);
    expect(header).toMatch(/; Path=\/console; HttpOnly; SameSite=Strict$/);
    expect(decodeURIComponent(header)).not.toContain(TOKEN);
    const behindTls = { ...own, "x-forwarded-proto": "https" };
    const secure = await api.request("/console/session", post({ token: TOKEN }, behindTls));
    expect(secure.headers.get("set-cookie")).toMatch(/; Secure$/);
    const asked = await api.request("/console/api/client/v4/accounts/local/tokens", {
      headers: { ...own, cookie },
    });
    expect(asked.status).toBe(200);
  });

  it("is nothing that the API itself takes, and nothing without the page's header", async () => {
    const api = await setup();
    const { cookie } = await logIn(api, { token: TOKEN });
    const path = "/client/v4/accounts/local/tokens";
    expect((await api.request(path, { headers: { cookie } })).status).toBe(401);
    for (const method of ["GET", "POST", "DELETE"])
      expect(
        (await api.request(`/console/api${path}`, { method, headers: { cookie } })).status,
      ).toBe(403);
    expect((await api.request("/console/events", { headers: { cookie } })).status).toBe(403);
    const noHeader = await api.request(
      "/console/session",
      post({ token: TOKEN }, { "content-type": "application/json" }),
    );
    expect(noHeader.status).toBe(403);
  });

  it("needs a token that is known, and a cookie that this platform has sealed", async () => {
    const api = await setup();
    expect((await logIn(api, { token: "no-such-token-0123456789" })).status).toBe(401);
    const { cookie } = await logIn(api, { token: TOKEN });
    for (const forged of [
      "causey_console=",
      "causey_console=abc",
      "causey_console=%E0%A4%A",
      `${cookie}A`,
      cookie.slice(0, -6),
    ]) {
      const answer = await api.request("/console/api/readyz", {
        headers: { ...own, cookie: forged },
      });
      expect(answer.status).toBe(401);
    }
    const other = await setup();
    expect(
      (await other.request("/console/api/readyz", { headers: { ...own, cookie } })).status,
    ).toBe(401);
  });

  it("may do what its token may, and not more", async () => {
    const api = await setup();
    const { cookie } = await logIn(api, { token: READER });
    const ask = (path: string): Promise<Response> =>
      Promise.resolve(
        api.request(`/console/api/client/v4/accounts/local${path}`, {
          headers: { ...own, cookie },
        }),
      );
    expect((await ask("/ai-search/instances")).status).toBe(200);
    expect((await ask("/tokens")).status).toBe(403);
  });

  it("that is read-only changes nothing", async () => {
    const api = await setup();
    const { cookie } = await logIn(api, { token: TOKEN, readOnly: true });
    const chat = { model: "echo", messages: [{ role: "user", content: "Hello" }] };
    const headers = { ...own, cookie };
    const sent = await api.request(
      "/console/api/v1/local/default/echo/chat/completions",
      post(chat, headers),
    );
    expect(sent.status).toBe(403);
    expect(
      (await api.request("/console/api/client/v4/accounts/local/tokens", { headers })).status,
    ).toBe(200);
  });

  it("reaches the platform's routes only, and no other origin", async () => {
    const api = await setup();
    const { cookie } = await logIn(api, { token: TOKEN });
    for (const path of [
      "/console/session",
      "//evil.example/v1/",
      "/../console/links",
      "/healthz",
      "/v1%2f",
    ]) {
      const answer = await api.request(`/console/api${path}`, { headers: { ...own, cookie } });
      expect(answer.status).toBe(404);
    }
  });

  it("ends with its token", async () => {
    const api = await setup();
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const groups = (await (
      await api.request("/client/v4/user/tokens/permission_groups?name=AI%20Search%20Read", {
        headers,
      })
    ).json()) as { result: { id: string }[] };
    const policies = [
      {
        effect: "allow",
        permission_groups: [{ id: groups.result[0]?.id }],
        resources: { "com.cloudflare.api.account.local": "*" },
      },
    ];
    const made = (await (
      await api.request(
        "/client/v4/accounts/local/tokens",
        post({ name: "one", policies }, headers),
      )
    ).json()) as { result: { id: string; value: string } };
    const { cookie, status } = await logIn(api, { token: made.result.value });
    expect(status).toBe(200);
    const ask = (): Promise<Response> =>
      Promise.resolve(api.request("/console/api/readyz", { headers: { ...own, cookie } }));
    expect((await ask()).status).toBe(200);
    await api.request(`/client/v4/accounts/local/tokens/${made.result.id}`, {
      method: "DELETE",
      headers,
    });
    expect((await ask()).status).toBe(401);
  });

  it("ends with its logout, whoever has the cookie, and no other does", async () => {
    const clock = { ahead: 0 };
    const api = await setup({}, clock);
    const { cookie } = await logIn(api, { token: TOKEN });
    clock.ahead = 1;
    const other = await logIn(api, { token: TOKEN });
    const ask = async (of: string): Promise<number> =>
      (await api.request("/console/api/readyz", { headers: { ...own, cookie: of } })).status;
    const left = await api.request("/console/session", {
      method: "DELETE",
      headers: { ...own, cookie },
    });
    expect(left.status).toBe(200);
    expect([await ask(cookie), await ask(other.cookie)]).toEqual([401, 200]);
    // The same value, written in another way.
    const [name = "", value = ""] = cookie.split("=", 2);
    expect(await ask(`${name}=${decodeURIComponent(value)}`)).toBe(401);
  });

  it("ends after twelve hours", async () => {
    const clock = { ahead: 0 };
    const api = await setup({}, clock);
    const { cookie } = await logIn(api, { token: TOKEN });
    for (const [minutes, status] of [
      [12 * 60 - 1, 200],
      [12 * 60 + 1, 401],
    ] as const) {
      clock.ahead = minutes * 60_000;
      const answer = await api.request("/console/api/readyz", { headers: { ...own, cookie } });
      expect(answer.status).toBe(status);
    }
  });

  it("is opened by a link once, which only a token makes", async () => {
    const api = await setup();
    expect((await api.request("/console/links", { method: "POST" })).status).toBe(401);
    const code = await linkCode(api);
    const attempts = await Promise.all(Array.from({ length: 5 }, () => logIn(api, { code })));
    expect(attempts.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 401, 401, 401, 401,
    ]);
    expect((await logIn(api, { code: "made-up" })).status).toBe(401);
  });
});

describe("the links of the console", () => {
  it("end after an hour", async () => {
    // Whether a link is too old is asked of the platform's own clock: this one runs behind it.
    const clock = { ahead: 0 };
    const api = await setup({}, clock);
    for (const [minutes, status] of [
      [59, 200],
      [61, 401],
    ] as const) {
      clock.ahead = -minutes * 60_000;
      const code = await linkCode(api);
      expect((await logIn(api, { code })).status).toBe(status);
    }
  });

  it("of one token never replace another's, and its own newest ten stay", async () => {
    const api = await setup();
    const mine = await linkCode(api);
    const codes: string[] = [];
    for (let at = 0; at < 120; at++) codes.push(await linkCode(api, READER));
    expect((await logIn(api, { code: mine })).status).toBe(200);
    expect((await logIn(api, { code: codes[108] })).status).toBe(401);
    for (const code of codes.slice(-10)) expect((await logIn(api, { code })).status).toBe(200);
  });
});

describe("what the console shows live", () => {
  it("is one stream of figures and requests", async () => {
    const api = await setup();
    const { cookie } = await logIn(api, { token: TOKEN });
    await api.request("/client/v4/accounts/local/tokens");
    const response = await api.request("/console/events", { headers: { ...own, cookie } });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!/"status":401/.test(text) || !text.includes("event: overview")) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
      if (done) break;
      text += value;
    }
    await reader?.cancel();
    expect(text).toContain("event: requests");
    expect(text).toContain('"route":"/client/v4/accounts/:account_id/tokens"');
    expect(text).toContain('"database":{"status":"ready"}');
    expect(text).not.toContain(TOKEN);
  });
});

/** What a session is shown of the stream, until its first requests have come. */
async function shownTo(
  api: PlatformApi,
  token: string,
): Promise<{ overview: Overview; rows: readonly { route: string }[] | null; text: string }> {
  const { cookie } = await logIn(api, { token });
  const response = await api.request("/console/events", { headers: { ...own, cookie } });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!/event: requests\ndata: .*\n\n/.test(text)) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
    if (done) break;
    text += value;
  }
  await reader?.cancel();
  const dataOf = (event: string): unknown =>
    JSON.parse(new RegExp(`event: ${event}\\ndata: (.*)`).exec(text)?.[1] ?? "");
  return {
    overview: dataOf("overview") as Overview,
    rows: dataOf("requests") as { route: string }[] | null,
    text,
  };
}

interface Overview {
  readonly history: readonly { part: string; totals: { count: number } }[] | null;
  readonly usage: unknown;
  readonly health: object;
  readonly nodes: unknown;
  readonly hidden: Readonly<Record<string, string>>;
}

describe("what the console shows of others", () => {
  const MANY = [
    { token: TOKEN, permissions: ["*"], accounts: ["*"] },
    { token: READER, permissions: ["AI Search Read"], accounts: ["local"] },
    { token: "token-of-another-account-01", permissions: ["Account Read"], accounts: ["other"] },
    {
      token: "token-for-all-of-another-01",
      permissions: ["AI Gateway Read", "AI Search Read", "Account Read"],
      accounts: ["other"],
    },
    {
      token: "token-for-one-gateway-only-01",
      permissions: ["AI Gateway Read"],
      accounts: ["local"],
      gateways: ["default"],
    },
  ];

  /** Requests to two accounts and several parts. */
  async function busy(nodes?: ActorNodes): Promise<PlatformApi> {
    const api = await setup({ tokens: MANY, gateway: { metrics: true } }, undefined, nodes);
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const get = async (path: string): Promise<void> => {
      await (await api.request(path, { headers })).text();
    };
    await get("/client/v4/accounts/local/ai-search/instances");
    await get("/client/v4/accounts/local/ai-gateway/gateways/no-such-gateway");
    await get("/client/v4/accounts/local/tokens");
    await get("/client/v4/accounts/local/devices");
    await get("/client/v4/accounts/other/ai-search/instances");
    await get("/client/v4/accounts/other/devices");
    // Hands on what was counted.
    await get("/metrics");
    return api;
  }
  it("is all to a token that may read all of it", async () => {
    const api = await busy();
    const { overview, rows } = await shownTo(api, TOKEN);
    expect(overview.hidden).toEqual({});
    expect(overview.usage).toEqual({ tokensIn: 0, tokensOut: 0, usd: 0 });
    expect(rows?.length).toBeGreaterThanOrEqual(6);
  });

  it("names the servers to a token that may read the account itself", async () => {
    const node = { id: "n", address: "10.0.0.5:8788", machine: "m", version: "1", slots: 1024 };
    const facts = { protocol: 1, schema: [], clockAheadMs: 0, refusal: null };
    const all = [{ ...node, ...facts, renewedMsAgo: 5, lives: true, lagMs: 0 }];
    const refused = new Promise<string>(() => undefined);
    const list = () => Promise.resolve(all);
    const api = await busy({ own: node.address, refused, list });
    expect((await shownTo(api, TOKEN)).overview.nodes).toEqual(all);
    for (const { token } of MANY.slice(1))
      expect((await shownTo(api, token)).overview.nodes).toBeNull();
    const headers = { authorization: `Bearer ${TOKEN}` };
    const metrics = await (await api.request("/metrics", { headers })).text();
    expect(metrics).toContain('causey_node_slots{node="10.0.0.5:8788",machine="m"} 1024\n');
    expect(metrics).toContain('causey_part_ready{part="database",node="10.0.0.5:8788"} 1\n');
  });

  it("is nothing to a token without a permission on the account, and says so", async () => {
    const api = await busy();
    const { overview, rows, text } = await shownTo(api, MANY[4]?.token ?? "");
    expect(overview).toMatchObject({ history: null, usage: null });
    expect(overview.hidden).toEqual({
      gateway: "AI Gateway Read",
      rendering: "Browser Rendering Edit",
      search: "AI Search Read",
      webhooks: "Webhooks Read",
      agents: "Agents Read",
      platform: "Account Read",
    });
    expect(overview.health).toHaveProperty("database");
    expect(rows).toBeNull();
    expect(text).not.toMatch(/no-such-gateway|"caller"|"route"/);
  });

  it("is the part that a token may read, of the account on which it may", async () => {
    const api = await busy();
    const { overview, rows } = await shownTo(api, READER);
    expect(overview.usage).toBeNull();
    expect(overview.history).toMatchObject([{ part: "search", totals: { count: 1 } }]);
    expect(rows?.map(({ route }) => route)).toEqual([
      "/client/v4/accounts/:account_id/ai-search/instances",
    ]);
    expect(overview.hidden).not.toHaveProperty("search");
  });

  it("is another account's own requests to a token of that account", async () => {
    const api = await busy();
    const { overview, rows } = await shownTo(api, MANY[3]?.token ?? "");
    expect(overview.usage).toBeNull();
    expect(overview.history?.map(({ part }) => part).toSorted()).toEqual(["platform", "search"]);
    expect(rows).toHaveLength(2);
    expect(rows).toMatchObject([{ account: "other" }, { account: "other" }]);
    const { rows: few } = await shownTo(api, MANY[2]?.token ?? "");
    expect(few).toMatchObject([{ account: "other", deprecation: "devices.01" }]);
  });

  it("ends with the token, also for a stream that is open", async () => {
    const api = await setup();
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const { result } = (await (
      await api.request(
        "/client/v4/accounts/local/tokens",
        post({ name: "brief", policies: [SEARCH_READ] }, headers),
      )
    ).json()) as { result: { id: string; value: string } };
    const { cookie } = await logIn(api, { token: result.value });
    const response = await api.request("/console/events", { headers: { ...own, cookie } });
    const reader = response.body?.getReader();
    await reader?.read();
    await api.request(`/client/v4/accounts/local/tokens/${result.id}`, {
      method: "DELETE",
      headers,
    });
    for (;;) {
      const { done } = (await reader?.read()) ?? { done: true };
      if (done) break;
    }
    expect((await api.request("/console/events", { headers: { ...own, cookie } })).status).toBe(
      401,
    );
  });
});

/** The policy of a token that may read searches. */
const SEARCH_READ = {
  effect: "allow",
  permission_groups: [{ id: "4931e9fdba24ed3c3f0e112db0956e75" }],
  resources: { "com.cloudflare.api.account.local": "*" },
};

it("usageOf() adds up what scrapers read", () => {
  const text = [
    'causey_gateway_tokens_total{gateway="a",type="input"} 3',
    'causey_gateway_tokens_total{gateway="b",type="output"} 4',
    'causey_gateway_cost_usd_total{gateway="a"} 0.5',
    'causey_gateway_key_cost_usd_total{gateway="a"} 9',
    "",
  ].join("\n");
  expect(accountUsage(text)).toEqual({ tokensIn: 3, tokensOut: 4, usd: 0.5 });
});
