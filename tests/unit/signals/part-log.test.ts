import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { defineAgent } from "../../../core/agents/mod.ts";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import type { PlatformApiOptions } from "../../../core/config/platform-api-options.ts";
import type { Platform } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { fakeEmbedder } from "../../fakes/search-models.ts";

type Line = Readonly<Record<string, unknown>>;

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

async function setup(options: Partial<PlatformApiOptions>): Promise<{
  readonly api: PlatformApi;
  readonly lines: Line[];
  readonly spans: () => readonly Line[];
}> {
  const real = await openPlatform();
  opened.push(real);
  const lines: Line[] = [];
  const platform: Platform = {
    ...real,
    log: (level, message, fields) => lines.push({ ...fields, level, message }),
  };
  const api = platformApi({ demo: true, ...options, platform, auth: "off" });
  return { api, lines, spans: () => lines.filter(({ message }) => message === "Span") };
}

const json = (body: object, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

const SECRET = "a-secret-in-the-wrong-place";
const root = "/client/v4/accounts/local";

/** Searches an instance of the embedder. */
async function search(api: PlatformApi): Promise<Response> {
  const instances = `${root}/ai-search/instances`;
  const made = await api.fetch(new Request(`http://localhost${instances}`, json({ id: "docs" })));
  await made.text();
  const url = `http://localhost${instances}/docs/search`;
  return api.fetch(new Request(url, json({ query: SECRET }, { "x-request-id": "request-1" })));
}

/** Chats with the demo. */
function chat(api: PlatformApi): Promise<Response> {
  const body = { model: SECRET, messages: [{ role: "user", content: SECRET }] };
  const headers = {
    "cf-aig-metadata": JSON.stringify({ "error.type": SECRET, "gateway.log_id": SECRET }),
  };
  const url = "http://localhost/v1/local/default/echo/chat/completions";
  return Promise.resolve(api.fetch(new Request(url, json(body, headers))));
}

describe("the spans of a part in the log", () => {
  it("are those of its requests and models, with the ids of both", async () => {
    const { api, spans } = await setup({ debug: ["search"], search: { embedder: fakeEmbedder() } });
    const answer = await search(api);
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
    const own = (): Line | undefined => spans().find((one) => one["request_id"] === "request-1");
    await eventually(() => own() !== undefined, "the span of the request");
    const embeddings = spans().find((one) => one["trace_id"] === own()?.["trace_id"]);
    expect(own()).toMatchObject({
      level: "debug",
      part: "search",
      span: "POST /client/v4/accounts/:account_id/ai-search/instances/:id/search",
      ms: expect.any(Number),
      outcome: "ok",
      status: 200,
    });
    expect(embeddings).toMatchObject({
      part: "search",
      span: "embeddings",
      outcome: "ok",
      parent_span_id: own()?.["span_id"],
    });
    expect(JSON.stringify(spans())).not.toContain(SECRET);
  });

  it("of the gateway have the id of its log row, and nothing that a caller chose", async () => {
    const { api, spans } = await setup({ debug: ["gateway"] });
    const answer = await chat(api);
    await answer.text();
    await eventually(() => spans().length === 2, "the request and its attempt");
    const id = answer.headers.get("cf-aig-log-id");
    expect(spans()).toEqual([
      expect.objectContaining({
        part: "gateway",
        span: "POST /v1/:account_id/:gateway_id/:provider/*",
        request_id: id,
        outcome: "ok",
        status: 200,
      }),
      expect.objectContaining({ span: "chat", request_id: id, outcome: "ok", status: 200 }),
    ]);
    expect(JSON.stringify(spans())).not.toContain(SECRET);
    const refused = await api.fetch(
      new Request(
        "http://localhost/v1/local/default/nobody/chat",
        json({}, { "cf-aig-metadata": JSON.stringify({ "gateway.log_id": SECRET }) }),
      ),
    );
    await refused.text();
    await eventually(() => spans().length === 3, "the span of the refused request");
    expect(spans()[2]).toMatchObject({ status: refused.status });
    expect(JSON.stringify(spans())).not.toContain(SECRET);
  });

  it("stay out for other parts, and where none is asked for", async () => {
    for (const debug of [[], ["webhooks"]] as const) {
      const { api, spans, lines } = await setup({ debug, accessLog: true });
      await (await chat(api)).text();
      await eventually(() => lines.some(({ message }) => message === "Request"), "the line");
      expect(spans()).toEqual([]);
    }
  });
});

describe("a line of a part", () => {
  it("names it", async () => {
    const failing = defineAgent({
      name: "Failing",
      onRequest: () => Promise.reject(new Error("it fails")),
    });
    const { api, lines } = await setup({ agents: [failing] });
    const response = await api.fetch(new Request("http://localhost/agents/failing/one"));
    await response.text();
    expect(response.status).toBe(500);
    expect(lines.filter(({ level }) => level === "error")).toEqual([
      expect.objectContaining({ part: "agents" }),
    ]);
  });
});
