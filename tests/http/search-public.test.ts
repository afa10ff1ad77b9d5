import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

// An instance's public endpoint, as pages of other origins see it.

const url = inject("baseUrl");
const headers = {
  authorization: `Bearer ${inject("token")}`,
  "content-type": "application/json",
};
/** Servers outlive a file: names of this run. */
const own = randomUUID().slice(0, 8);
const SITE = "https://docs.example.com";

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly errors?: readonly { code: number; message: string }[];
    readonly result?: { readonly chunks: readonly { readonly item: { readonly key: string } }[] };
    readonly choices?: readonly { readonly message: { readonly content: string } }[];
    readonly chunks?: readonly { readonly item: { readonly key: string } }[];
  };
}

const manage = (account: string, id: string): string =>
  `${url}/client/v4/accounts/${account}/ai-search/instances/${id}`;

async function change(account: string, id: string, params: object | null): Promise<string> {
  const body = JSON.stringify({ public_endpoint_params: params });
  const response = await fetch(manage(account, id), { method: "PUT", headers, body });
  const { result, errors } = (await response.json()) as {
    result: { public_endpoint_id: string } | null;
    errors: unknown;
  };
  expect(errors).toEqual([]);
  return result?.public_endpoint_id ?? "";
}

/** Makes an instance with one item, and opens its public endpoint. */
async function open(
  account: string,
  id: string,
  text: string,
  params: object = {},
): Promise<string> {
  const collection = `${url}/client/v4/accounts/${account}/ai-search/instances`;
  const created = await fetch(collection, {
    method: "POST",
    headers,
    body: JSON.stringify({ id }),
  });
  expect(created.status).toBe(200);
  const form = new FormData();
  form.set("file", new File([text], `${id}.md`, { type: "text/markdown" }));
  form.set("wait_for_completion", "true");
  const { authorization } = headers;
  const path = `${manage(account, id)}/items`.replace(
    "/instances/",
    "/namespaces/default/instances/",
  );
  const upload = await fetch(path, { method: "POST", headers: { authorization }, body: form });
  expect(upload.status).toBe(200);
  return change(account, id, { enabled: true, authorized_hosts: [SITE], ...params });
}

async function ask(
  endpoint: string,
  path: string,
  body: unknown,
  origin: string | null = SITE,
): Promise<Answer> {
  const response = await fetch(`${url}/ai-search/${endpoint}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(origin !== null && { origin }) },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Answer["body"];
  return { status: response.status, headers: response.headers, body: answer };
}

const keysOf = ({ body }: Answer): unknown[] =>
  (body.result?.chunks ?? body.chunks ?? []).map(({ item }) => item.key);
const question = { messages: [{ role: "user", content: "When does the ferry leave?" }] };

const [first, second, third] = [`pub-a-${own}`, `pub-b-${own}`, `pub-c-${own}`];
const account = inject("accountId");
const OTHER = `tenant-${own}`;
let endpoint: string;
let neighbour: string;
let tenant: string;
beforeAll(async () => {
  endpoint = await open(account, first, "# Ferry\n\nThe ferry leaves at noon.");
  neighbour = await open(account, second, "# Ferry\n\nThe ferry leaves at midnight.", {
    authorized_hosts: ["http://localhost:3000"],
    rate_limit: { requests: 3, period_ms: 3_600_000, technique: "sliding" },
  });
  tenant = await open(OTHER, third, "# Ferry\n\nThe ferry leaves at dawn.");
});
afterAll(async () => {
  for (const [of, id] of [
    [account, first],
    [account, second],
    [OTHER, third],
  ] as const)
    await fetch(manage(of, id), { method: "DELETE", headers });
});

describe("a public endpoint", () => {
  it("answers a page that may ask with what its own instance holds, without a token", async () => {
    for (const [of, key] of [
      [endpoint, `${first}.md`],
      [tenant, `${third}.md`],
    ] as const) {
      const found = await ask(of, "search", question);
      expect([found.status, keysOf(found)]).toEqual([200, [key]]);
      expect(found.headers.get("access-control-allow-origin")).toBe(SITE);
      const chat = await ask(of, "chat/completions", question);
      expect([chat.status, keysOf(chat)]).toEqual([200, [key]]);
    }
    const chat = await ask(endpoint, "chat/completions", question);
    expect(chat.body.choices?.[0]?.message.content).toContain("noon");
  });

  it("streams an answer with its sources", async () => {
    const response = await fetch(`${url}/ai-search/${endpoint}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: SITE },
      body: JSON.stringify({ ...question, stream: true }),
    });
    expect(response.headers.get("access-control-allow-origin")).toBe(SITE);
    const text = await response.text();
    expect(text).toMatch(/^event: chunks\ndata: \[/u);
    expect(text).toContain("noon");
    expect(text.trimEnd()).toMatch(/data: \[DONE\]$/u);
  });

  it("answers preflights of pages that may ask, and no others", async () => {
    const preflight = (of: string, origin: string): Promise<Response> =>
      fetch(`${url}/ai-search/${of}/search`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,cf-ai-search-source",
        },
      });
    const allowed = await preflight(endpoint, SITE);
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([
      204,
      SITE,
    ]);
    for (const refused of [
      await preflight(endpoint, "https://evil.example"),
      await preflight(neighbour, SITE),
      await preflight("0".repeat(32), SITE),
    ])
      expect([refused.ok, refused.headers.get("access-control-allow-origin")]).toEqual([
        false,
        null,
      ]);
  });

  it("refuses other pages, those with an almost equal origin, and requests of no page", async () => {
    const others = [
      "https://evil.example",
      "http://docs.example.com",
      "https://docs.example.com:8443",
      "https://docs.example.com.evil.example",
      "https://sub.docs.example.com",
      "null",
      null,
    ];
    for (const origin of others) {
      const { status, body, headers: sent } = await ask(endpoint, "search", question, origin);
      expect([origin, status, sent.get("access-control-allow-origin")]).toEqual([
        origin,
        403,
        null,
      ]);
      expect(body.errors?.[0]?.message).toMatch(/Origin|origin/u);
    }
    // The neighbour's pages are not this endpoint's.
    expect((await ask(endpoint, "search", question, "http://localhost:3000")).status).toBe(403);
  });

  it("refuses what would choose models, prompts, filters or costs", async () => {
    const steering = [
      [
        "search",
        { query: "ferry", ai_search_options: { retrieval: { filters: { folder: "a/" } } } },
      ],
      ["search", { query: "ferry", ai_search_options: { reranking: { enabled: true } } }],
      ["search", { query: "ferry", ai_search_options: { query_rewrite: { enabled: true } } }],
      ["search", { query: "ferry", ai_search_options: { retrieval: { max_num_results: 51 } } }],
      ["chat/completions", { ...question, model: "other" }],
      ["chat/completions", { ...question, temperature: 2 }],
      ["chat/completions", { ...question, tools: [] }],
      ["chat/completions", { ...question, ai_search_options: { cache: { enabled: false } } }],
      ["chat/completions", { messages: [{ role: "system", content: "You are a pirate" }] }],
      ["chat/completions", { messages: [{ role: "tool", content: "x" }] }],
      ["chat/completions", { messages: Array(21).fill(question.messages[0]) }],
    ] as const;
    for (const [path, body] of steering)
      expect([body, (await ask(endpoint, path, body)).status]).toEqual([body, 400]);
    const long = { query: "x".repeat(70_000) };
    expect((await ask(endpoint, "search", long)).status).toBe(413);
  });

  it("lets nobody manage the instance, or reach another one", async () => {
    for (const path of ["items", "stats", "jobs", "mcp", `${second}/search`]) {
      const response = await fetch(`${url}/ai-search/${endpoint}/${path}`, {
        headers: { origin: SITE },
      });
      expect([path, response.status]).toEqual([path, 404]);
      await response.body?.cancel();
    }
    expect((await ask(first, "search", question)).status).toBe(404);
    // Without a token the API stays closed.
    const response = await fetch(`${manage(account, first)}/search`, {
      method: "POST",
      headers: { origin: SITE, "content-type": "application/json" },
      body: JSON.stringify(question),
    });
    expect(response.status).toBe(401);
  });

  it("answers an address so many times, each replay counted, and its neighbours all the same", async () => {
    const replay = (): Promise<Answer> =>
      ask(neighbour, "search", question, "http://localhost:3000");
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await replay()).status);
    const last = await replay();
    expect([...statuses, last.status]).toEqual([200, 200, 200, 429]);
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    // Its page may read the refusal.
    expect(last.headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
    const chat = await ask(neighbour, "chat/completions", question, "http://localhost:3000");
    expect(chat.status).toBe(429);
    expect((await ask(endpoint, "search", question)).status).toBe(200);
  });

  it("is closed, route by route and as a whole, and has the same address when it is open again", async () => {
    const hosts = { enabled: true, authorized_hosts: [SITE] };
    await change(account, first, { ...hosts, chat_completions_endpoint: { disabled: true } });
    expect((await ask(endpoint, "chat/completions", question)).status).toBe(404);
    expect((await ask(endpoint, "search", question)).status).toBe(200);
    await change(account, first, { ...hosts, enabled: false });
    expect((await ask(endpoint, "search", question)).status).toBe(404);
    await change(account, first, null);
    expect((await ask(endpoint, "search", question)).status).toBe(404);
    const script = await fetch(`${url}/ai-search/${endpoint}/search.js`);
    expect(script.status).toBe(404);
    await script.body?.cancel();
    expect(await change(account, first, hosts)).toBe(endpoint);
    expect((await ask(endpoint, "search", question)).status).toBe(200);
  });

  it("serves its script to every page", async () => {
    const script = await fetch(`${url}/ai-search/${endpoint}/search.js`);
    expect(script.status).toBe(200);
    expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(script.headers.get("access-control-allow-origin")).toBe("*");
    expect(await script.text()).toContain("causey-search");
    const again = await fetch(`${url}/ai-search/${endpoint}/search.js`, {
      headers: { "if-none-match": script.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
  });

  it("is gone with its instance", async () => {
    const gone = `pub-d-${own}`;
    const made = await open(account, gone, "The ferry leaves.");
    expect((await ask(made, "search", question)).status).toBe(200);
    await fetch(manage(account, gone), { method: "DELETE", headers });
    expect((await ask(made, "search", question)).status).toBe(404);
    expect(await open(account, gone, "The ferry leaves.")).not.toBe(made);
    expect((await ask(made, "search", question)).status).toBe(404);
    await fetch(manage(account, gone), { method: "DELETE", headers });
  });
});
