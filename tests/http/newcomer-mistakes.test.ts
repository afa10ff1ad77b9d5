import { describe, expect, inject, it } from "vitest";

// Mistakes that newcomers make with each part, sent as they would be, and the words that say what to write instead.

const base = inject("baseUrl");
const token = inject("token");
const accountId = inject("accountId");
const account = `/client/v4/accounts/${accountId}`;
const gateways = `${account}/ai-gateway/gateways`;
const gateway = `/v1/${accountId}/default`;

interface Request {
  readonly method?: string;
  readonly path: string;
  /** JSON, or a text that is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const bearer = `Bearer ${token}`;

async function ask({ method, path, body, headers }: Request): Promise<Answer> {
  const response = await fetch(`${base}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      authorization: bearer,
      "cf-aig-authorization": bearer,
      "content-type": "application/json",
      ...headers,
    },
    body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The messages of an answer of any part, in one text. */
function wordsOf(text: string): string {
  const { errors = [], error } = JSON.parse(text) as {
    readonly errors?: readonly { readonly message: string }[];
    readonly error?: { readonly message?: string };
  };
  return [...errors, error].map((one) => one?.message ?? "").join(" ");
}

const messages = [{ role: "user", content: "Hello" }];
const past = "2020-01-01T00:00:00Z";

const refused: readonly (readonly [what: string, status: number, Request, says: string])[] = [
  [
    "a number as model",
    400,
    { path: `${gateway}/compat/chat/completions`, body: { model: 5, messages } },
    'model: write "{provider}/{model}", such as "openai/gpt-5.5", got 5',
  ],
  [
    "an empty model of the REST API",
    400,
    { path: `${account}/ai/v1/chat/completions`, body: { model: "", messages } },
    'model: write "{author}/{model}", such as "openai/gpt-5.5", got ""',
  ],
  [
    "a model without its author",
    400,
    { path: `${account}/ai/v1/chat/completions`, body: { model: "gpt-5.5", messages } },
    'did you mean "openai/gpt-5.5"?',
  ],
  [
    "embeddings of the demo provider",
    404,
    { path: `${gateway}/echo/embeddings`, body: { model: "echo", input: "a" } },
    'ask another provider for it, such as "/v1/{account_id}/{gateway_id}/openai/embeddings"',
  ],
  [
    "embeddings of a provider that has none",
    400,
    { path: `${gateway}/compat/embeddings`, body: { model: "anthropic/claude", input: "a" } },
    '"embeddings" for models of "anthropic" is not supported here, but of openai, ',
  ],
  [
    "a rate limit without its interval",
    400,
    { path: gateways, body: { id: "half-a-limit", rate_limiting_limit: 5 } },
    'Missing field "rate_limiting_interval"',
  ],
  [
    "an interval without its limit",
    400,
    { path: gateways, body: { id: "half-a-limit", rate_limiting_interval: 60 } },
    'Missing field "rate_limiting_limit"',
  ],
  [
    "a virtual key that has expired",
    400,
    { path: `${account}/ai-gateway/virtual-keys`, body: { name: "old", expires_at: past } },
    `expires_at: ${past} is in the past: write a later time`,
  ],
  [
    "a token that has expired",
    400,
    {
      path: `${account}/tokens`,
      body: {
        name: "old",
        expires_on: past,
        policies: [
          {
            effect: "allow",
            permission_groups: [{ id: "6fefe3e6a4ba52d67ff0bedeb32512bc" }],
            resources: { [`com.cloudflare.api.account.${accountId}`]: "*" },
          },
        ],
      },
    },
    `expires_on: ${past} is in the past: write a later time`,
  ],
  [
    "a rate of a virtual key",
    400,
    { path: `${account}/ai-gateway/virtual-keys`, body: { name: "fast", rate: 5 } },
    'Unknown field "rate": did you mean "limits"?',
  ],
  [
    "an instance's near id",
    404,
    { path: `${account}/ai-search/instances/dmeo/search`, body: { query: "a" } },
    'no instance "dmeo"',
  ],
  [
    "an instance with a model that is not there",
    400,
    { path: `${account}/ai-search/instances`, body: { id: "none", ai_search_model: "gpt-9" } },
    'no chat model is configured, so "gpt-9" cannot answer; use "builtin/extractive"',
  ],
  [
    "topics of an endpoint",
    400,
    { path: `${account}/webhooks/endpoints`, body: { url: "https://a.test/", topics: ["a"] } },
    'Unknown field "topics": did you mean "types"?',
  ],
  [
    "a signature with another secret",
    401,
    {
      path: "/webhooks/demo",
      body: { entity: "demo" },
      headers: { "x-signature": `sha256=${"0a".repeat(32)}` },
    },
    'the header "x-signature" was checked as hmac-sha-256 of "{body}" by the secret of this source',
  ],
  [
    "a signature without its prefix",
    401,
    { path: "/webhooks/demo", body: { entity: "demo" }, headers: { "x-signature": "abc" } },
    'expected "sha256=<lower-case hex>" in the header "x-signature"',
  ],
  [
    "an agent class without a name",
    404,
    { path: "/agents/webhook-agent" },
    'add the name of an agent, as in "/agents/webhook-agent/{name}"',
  ],
  [
    "a ticket by GET",
    405,
    { path: "/agents/webhook-agent/demo/ticket" },
    "this path takes POST, not GET",
  ],
];

describe("the answer to a newcomer's mistake says what to do:", () => {
  it.each(refused)("%s", async (_, status, request, says) => {
    const answer = await ask(request);
    expect(wordsOf(answer.text)).toContain(says);
    expect(answer.status).toBe(status);
    if (status === 405) expect(answer.headers.get("allow")).not.toBe(null);
  });
});

it("a header of the gateway's that it does not know is named beside the near one", async () => {
  const answer = await ask({
    path: `${gateway}/echo/chat/completions`,
    body: { model: "echo", messages },
    headers: { "cf-aig-cachettl": "60", "gw-aig-novelty-of-2031": "1" },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("cf-aig-unknown-headers")).toBe(
    'cf-aig-cachettl: did you mean "cf-aig-cache-ttl"?, gw-aig-novelty-of-2031',
  );
});

it("events and replays of a source that is not there say so, with those that are", async () => {
  const note = 'There is no webhook source "demmo" now: did you mean "demo"?';
  const list = await ask({ path: `${account}/webhooks/events?entity=demo&source=demmo` });
  expect(list.status).toBe(200);
  expect(list.text).toContain(JSON.stringify(note));
  const body = { of: "events", source: "demmo" };
  const replay = await ask({ path: `${account}/webhooks/replays`, body });
  expect(replay.status).toBe(202);
  expect(replay.text).toContain(JSON.stringify(note));
  const other = await ask({ path: `${account}/webhooks/failures?source=elsewhere` });
  expect(other.text).toContain('no webhook source \\"elsewhere\\" now: use one of ');
});
