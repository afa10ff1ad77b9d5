import { describe, expect, inject, it } from "vitest";
import { withBrowser } from "./render-client.ts";
import { targetName } from "./target.ts";

// What people get wrong first, and the words that tell them what to write instead.

const base = inject("baseUrl");
const token = inject("token");
const account = `/client/v4/accounts/${inject("accountId")}`;
const gateways = `${account}/ai-gateway/gateways`;
const compat = `/v1/${inject("accountId")}/default/compat`;

interface Mistake {
  readonly method?: string;
  readonly path: string;
  /** A text is sent as it is. */
  readonly body?: unknown;
  /** The credential. @default the operator's token */
  readonly authorization?: string | null;
  /** Whether the gateway's own header holds the token, too. @default below `/v1/{account_id}` */
  readonly inOwnHeader?: boolean;
}

const chat = "/v1/chat/completions";
const greeting = { model: "echo/echo", messages: [{ role: "user", content: "Hello" }] };

const mistakes: readonly (readonly [what: string, mistake: Mistake, says: string | RegExp])[] = [
  ["no token", { path: gateways, authorization: null }, "no token was sent; send"],
  [
    "a token without Bearer",
    { path: gateways, authorization: token },
    'does not begin with "Bearer "',
  ],
  ["Basic", { path: gateways, authorization: "Basic YTpi" }, 'does not begin with "Bearer "'],
  [
    "a wrong token",
    { path: gateways, authorization: "Bearer wrong" },
    "unknown, disabled or expired",
  ],
  ["a slash at the end", { path: `${gateways}/` }, 'leave the "/" at its end out'],
  ["two slashes", { path: gateways.replace("/accounts", "//accounts") }, 'empty part ("//")'],
  [
    "a misspelt path",
    { path: gateways.replace("gateway/", "gatewy/") },
    `did you mean "${gateways}"?`,
  ],
  ["another method", { path: gateways, method: "PATCH" }, "takes GET, HEAD, POST, not PATCH"],
  ["no body", { path: gateways, method: "POST" }, "The request has no body: send JSON"],
  [
    "a comma too many",
    { path: gateways, body: '{"id": "a", }' },
    "line 1, column 13: expected a name in double quotes",
  ],
  [
    "a name without quotes",
    { path: gateways, body: "{id: 1}" },
    "line 1, column 2: expected a name",
  ],
  ["a form", { path: gateways, body: "id=a" }, "not valid JSON: line 1, column 1"],
  [
    "JSON that ends",
    { path: gateways, body: '{"id": "a"' },
    'the text ends too early: expected "," or "}"',
  ],
  ["no field", { path: gateways, body: {} }, 'Missing field "id"'],
  [
    "several fields",
    { path: `${account}/tokens`, body: {} },
    'Missing fields "name" and "policies"',
  ],
  [
    "a misspelt field",
    { path: gateways, body: { id: "a", cachettl: 1 } },
    'did you mean "cache_ttl"?',
  ],
  [
    "a field's notation",
    { path: gateways, body: { id: "a", cacheTtl: 1 } },
    'did you mean "cache_ttl"?',
  ],
  [
    "a text for a number",
    { path: gateways, body: { id: "a", cache_ttl: "1h" } },
    'cache_ttl: expected a number, got "1h"',
  ],
  [
    "a number out of bounds",
    { path: gateways, body: { id: "a", cache_ttl: -1 } },
    "cache_ttl: expected at least 0, got -1",
  ],
  [
    "a broken number",
    { path: gateways, body: { id: "a", cache_ttl: 1.5 } },
    "cache_ttl: expected a whole number, got 1.5",
  ],
  [
    "a text for a switch",
    { path: gateways, body: { id: "a", collect_logs: "yes" } },
    'collect_logs: expected true or false, got "yes"',
  ],
  [
    "a choice",
    { path: gateways, body: { id: "a", retry_backoff: "linaer" } },
    'did you mean "linear"?',
  ],
  ["a list for an object", { path: gateways, body: [] }, /expected an object|Missing field "id"/u],
  [
    "an id with blanks",
    { path: gateways, body: { id: "team a" } },
    "id: expected 1 to 64 letters, digits",
  ],
  [
    "a gateway",
    { path: `/v1/${inject("accountId")}/defualt/compat/chat/completions`, body: {} },
    'no gateway "defualt": did you mean "default"?',
  ],
  [
    "a model without provider",
    { path: `${compat}/chat/completions`, body: { model: "gpt-5.5", messages: [] } },
    'did you mean "openai/gpt-5.5"?',
  ],
  [
    "a provider",
    { path: `${compat}/chat/completions`, body: { model: "opnai/x", messages: [] } },
    'did you mean "openai"?',
  ],
  [
    "a provider's path",
    { path: `/v1/${inject("accountId")}/default/antropic/v1/messages`, body: {} },
    'did you mean "anthropic"?',
  ],
  [
    "a chat's misspelt path",
    { path: "/v1/chat/completion", body: greeting },
    `did you mean "${chat}"?`,
  ],
  ["a chat's slash", { path: `${chat}/`, body: greeting }, `did you mean "${chat}"?`],
  [
    "a base URL without /v1",
    { path: "/chat/completions", body: greeting },
    `did you mean "${chat}"?`,
  ],
  ["a base URL with /v1 twice", { path: `/v1${chat}`, body: greeting }, `did you mean "${chat}"?`],
  ["a chat by GET", { path: chat }, "takes POST, not GET"],
  [
    "a chat without a token",
    { path: chat, body: greeting, authorization: null },
    'no token was sent; send "authorization: Bearer',
  ],
  [
    "a chat with Basic",
    { path: chat, body: greeting, authorization: "Basic YTpi" },
    'the header "authorization" does not hold "Bearer " and one token; send "authorization: Bearer',
  ],
  [
    "a chat with a wrong token",
    { path: chat, body: greeting, authorization: "Bearer wrong" },
    "the token in Authorization does not open this gateway: it is unknown, disabled, expired or lacks the permission",
  ],
  [
    "the token in the header of the provider's",
    { path: compat.replace("compat", "openai/v1/models"), inOwnHeader: false },
    'send "cf-aig-authorization: Bearer',
  ],
  [
    "a chat without a model",
    { path: chat, body: { messages: greeting.messages } },
    'Missing field "model": write "{provider}/{model}"',
  ],
  [
    "an address without https",
    { path: `${account}/browser-rendering/markdown`, body: { url: "example.com" } },
    'url: The URL is not valid: did you mean "https://example.com"?',
  ],
  [
    "neither url nor html",
    { path: `${account}/browser-rendering/markdown`, body: {} },
    "One of url and html is needed",
  ],
  [
    "an own address",
    { path: `${account}/browser-rendering/markdown`, body: { url: "http://127.0.0.1/" } },
    "is not a public address",
  ],
  [
    "an option",
    { path: `${account}/browser-rendering/pdf`, body: { html: "a", pdfOptions: { formt: "a4" } } },
    'did you mean "pdfOptions.format"?',
  ],
  [
    "an instance",
    { path: `${account}/ai-search/instances/none/search`, body: { query: "a" } },
    'no instance "none"',
  ],
  [
    "no query",
    { path: `${account}/ai-search/instances/none/search`, body: {} },
    /missing_user_query|no instance/u,
  ],
  [
    "no id of an instance",
    { path: `${account}/ai-search/instances`, body: {} },
    'Missing field "id"',
  ],
  [
    "no url of an endpoint",
    { path: `${account}/webhooks/endpoints`, body: {} },
    'Missing field "url"',
  ],
  [
    "an endpoint without https",
    { path: `${account}/webhooks/endpoints`, body: { url: "example.com/hook" } },
    'did you mean "https://example.com/hook"?',
  ],
  ["an agent", { path: "/agents/nobody/one/events" }, 'No agent class "nobody"'],
  [
    "a deprecation",
    { path: "/client/v4/deprecations/setting-minfy" },
    'did you mean "setting-minify',
  ],
  [
    "a permission's name for its id",
    {
      path: `${account}/tokens`,
      body: {
        name: "a",
        policies: [
          {
            effect: "allow",
            permission_groups: [{ id: "AI Gatway Run" }],
            resources: { "com.cloudflare.api.account.*": "*" },
          },
        ],
      },
    },
    'the id of "AI Gateway Run" is "6fefe3e6a4ba52d67ff0bedeb32512bc"',
  ],
  [
    "an effect",
    { path: `${account}/tokens`, body: { name: "a", policies: [{ effect: "alow" }] } },
    'did you mean "allow"?',
  ],
  [
    "an order",
    { path: `${gateways}/default/logs?order_by=creatd_at` },
    'order_by: unknown column "creatd_at": did you mean "created_at"?',
  ],
  ["a page of nothing", { path: `${gateways}?page=0` }, "expected an integer from 1 to"],
  ["a page too long", { path: `${gateways}?per_page=1000` }, "from 1 to 100"],
  [
    "a parameter",
    { path: `${gateways}/default/logs?perpage=1` },
    'Unknown parameter "perpage": did you mean "per_page"?',
  ],
  [
    "a time",
    { path: `${gateways}/default/logs?start_date=yesterday` },
    'expected a time, got "yesterday"',
  ],
  [
    "a gateway to change",
    { path: `${gateways}/defualt`, method: "DELETE" },
    'There is no gateway "defualt" in this account: did you mean "default"?',
  ],
  [
    "a webhook source",
    { path: "/webhooks/demmo", body: {} },
    'No webhook source "demmo": did you mean "demo"?',
  ],
  [
    "an event to wait for",
    {
      path: `${account}/browser-rendering/markdown`,
      body: { html: "a", gotoOptions: { waitUntil: "networkidle" } },
    },
    'did you mean "networkidle0"?',
  ],
  [
    "a picture's type",
    {
      path: `${account}/browser-rendering/screenshot`,
      body: { html: "a", screenshotOptions: { type: "jpg" } },
    },
    'did you mean "jpeg"?',
  ],
  [
    "no elements to scrape",
    { path: `${account}/browser-rendering/scrape`, body: { html: "a" } },
    'Missing field "elements"',
  ],
  [
    "a search option",
    {
      path: `${account}/ai-search/instances/none/search`,
      body: { query: "a", ai_search_options: { retrieval: { max_num_result: 3 } } },
    },
    'did you mean "ai_search_options.retrieval.max_num_results"?',
  ],
  [
    "an instance's id",
    { path: `${account}/ai-search/instances`, body: { id: "My Docs" } },
    "id: expected 1 to 32 of a-z",
  ],
  [
    "a model for vectors",
    { path: `${account}/ai-search/instances`, body: { id: "a1", embedding_model: "nope" } },
    /embedding_model "nope" is not configured here; use "/u,
  ],
  [
    "an instance's misspelt id",
    { path: `${account}/ai-search/instances/dmeo/search`, body: { query: "a" } },
    'no instance "dmeo"',
  ],
  [
    "a list for headers",
    {
      path: `${account}/webhooks/endpoints`,
      body: { url: "https://a.example/", headers: ["a: b"] },
    },
    "headers: expected an object, got a list",
  ],
  [
    "headers of a page as a list",
    {
      path: `${account}/browser-rendering/markdown`,
      body: { html: "a", setExtraHTTPHeaders: ["a: b"] },
    },
    "setExtraHTTPHeaders: expected an object, got a list",
  ],
  [
    "a budget by another name",
    { path: `${account}/ai-gateway/virtual-keys`, body: { name: "a", budget: 5 } },
    'Unknown field "budget": did you mean "limits"?',
  ],
  [
    "a team's budget by another name",
    { path: `${account}/ai-gateway/teams`, body: { id: "a-team", budget: 5 } },
    'Unknown field "budget": did you mean "limits"?',
  ],
  [
    "no kind of a replay",
    { path: `${account}/webhooks/replays`, body: {} },
    'Missing field "of": expected "events" or "dead-letters"',
  ],
  [
    "a replay since yesterday",
    { path: `${account}/webhooks/replays`, body: { of: "events", since: "yesterday" } },
    'since: expected an RFC 3339 instant such as "2026-01-31T12:00:00Z", got "yesterday"',
  ],
  [
    "an entity in the body instead of the query",
    { path: `${account}/webhooks/events/none/replay`, method: "POST" },
    'Missing parameter "entity"',
  ],
  [
    "a source's misspelt name",
    { path: `${account}/webhooks/sources/demmo` },
    'There is no webhook source "demmo": did you mean "demo"?',
  ],
  [
    "a source's scheme",
    {
      path: `${account}/webhooks/sources`,
      body: { name: "gh", scheme: "githb", secret: "0123456789abcdef" },
    },
    'did you mean "github"?',
  ],
  [
    "an endpoint's id",
    { path: `${account}/webhooks/endpoints/ep_none` },
    'There is no webhook endpoint "ep_none"',
  ],
  [
    "an application's id",
    { path: `${account}/webhooks/applications/none` },
    'There is no webhook application "none"',
  ],
  [
    "a filter's operator",
    {
      path: `${account}/webhooks/endpoints`,
      body: { url: "https://a.example/", filter: { total: { $gtee: 1 } } },
    },
    'Unknown operator "$gtee": did you mean "$gte"?',
  ],
  [
    "a crawl's id",
    { path: `${account}/browser-rendering/crawl/none` },
    'There is no crawl job "none"',
  ],
  [
    "a file as JSON",
    { path: `${account}/ai-search/instances/none/items`, body: { file: "a" } },
    /send multipart\/form-data with a file in the field "file"|no instance "none"/u,
  ],
  [
    "a variable without a token",
    { path: gateways, authorization: "Bearer " },
    'nothing follows "Bearer"',
  ],
  [
    "Bearer twice",
    { path: gateways, authorization: "Bearer Bearer abc" },
    'does not hold "Bearer " and one token',
  ],
  [
    "a gateway that nobody has made",
    { path: `/v1/${inject("accountId")}/shop-team/echo/chat/completions`, body: greeting },
    'no gateway "shop-team": make it by POST /accounts/{account_id}/ai-gateway/gateways',
  ],
  [
    "an agent class",
    { path: "/agents/webhook-agnt/one/events" },
    'No agent class "webhook-agnt": did you mean "webhook-agent"?',
  ],
  [
    "an event to begin with",
    { path: "/agents/webhook-agent/one/events?since=now" },
    'since: expected the number of an event, got "now"',
  ],
  ["an agent without its routes", { path: "/agents/webhook-agent/one" }, 'GET its "/events"'],
  [
    "a portal without its token",
    { path: "/client/v4/webhook-portal", authorization: null },
    "No token was sent: open the link",
  ],
  ["a webhook by GET", { path: "/webhooks/demo" }, "this path takes POST, not GET"],
  ["a phase", { path: "/client/v4/deprecations?phase=retird" }, 'did you mean "retired"?'],
];

withBrowser(
  "a name that nobody has is told as such, whether a browser loads the page or not",
  async () => {
    for (const [render, scheme] of [
      [true, "https"],
      [true, "http"],
      [false, "https"],
    ] as const) {
      const response = await fetch(`${base}${account}/browser-rendering/markdown`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ url: `${scheme}://no-such-host.invalid/`, render }),
      });
      const { errors } = (await response.json()) as { errors: readonly { code: number }[] };
      // Workers' `fetch` gives no reason; what the browser's proxy says of an http address is one.
      const isTold = targetName() !== "workers" || (render && scheme === "http");
      const code = isTold ? 5005 : 5008;
      expect([response.status, errors[0]?.code], `${scheme} ${render}`).toEqual([422, code]);
    }
  },
);

describe("the answer to a mistake says what to do:", () => {
  it.each(mistakes)("%s", async (_, { path, body, ...mistake }, says) => {
    const { method = body === undefined ? "GET" : "POST", authorization = `Bearer ${token}` } =
      mistake;
    const { inOwnHeader = path.startsWith(`/v1/${inject("accountId")}/`) } = mistake;
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(authorization !== null && { authorization }),
        ...(inOwnHeader && { "cf-aig-authorization": `Bearer ${token}` }),
      },
      body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
    });
    const { errors } = (await response.json()) as {
      errors: readonly { readonly message: string }[];
    };
    expect(response.status).toBeGreaterThanOrEqual(400);
    const [{ message } = { message: "" }] = errors;
    if (typeof says === "string") expect(message).toContain(says);
    else expect(message).toMatch(says);
    expect(message).not.toMatch(/Invalid (?:key|type|value|length):|but received|undefined/u);
  });
});

it("a gateway needs a name and nothing else", async () => {
  const id = `only-${Date.now().toString(36)}`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${base}${gateways}`, {
    method: "POST",
    headers,
    body: JSON.stringify({ id }),
  });
  const { result } = (await response.json()) as { result: Readonly<Record<string, unknown>> };
  expect(result).toMatchObject({ id, authentication: true, collect_logs: true, cache_ttl: 0 });
});
