import { describe, expect, inject, it } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { malformedRequests } from "./malformed.ts";

const base = inject("baseUrl");
const headers = { authorization: `Bearer ${inject("token")}` };
const account = `/client/v4/accounts/${inject("accountId")}`;

/** One route of every part that needs an API token, with a body that would be valid. */
const guarded: readonly [method: string, path: string][] = [
  ["GET", "/client/v4/user/tokens/verify"],
  ["GET", "/client/v4/user/tokens"],
  ["POST", `${account}/browser-rendering/pdf`],
  ["POST", `${account}/browser-run/markdown`],
  ["POST", `${account}/browser-rendering/crawl`],
  ["GET", `${account}/browser-run/crawl/00000000-0000-4000-8000-000000000000`],
  ["GET", `${account}/ai-search/instances`],
  ["POST", `${account}/ai-search/instances/demo/search`],
  ["POST", `${account}/ai-search/namespaces/default/instances/demo/chat/completions`],
  ["GET", `${account}/ai-gateway/gateways`],
  ["GET", `${account}/ai-gateway/metrics`],
  ["GET", `${account}/ai-gateway/gateways/open/run/${"0".repeat(32)}/resume?from=0`],
  ["GET", `${account}/webhooks/endpoints`],
];

async function expectEnvelope(
  response: Response,
  status: number,
): Promise<{ errors: { code: number; message: string }[] }> {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  expect(response.headers.get("content-type")).toContain("application/json");
  const body = JSON.parse(text) as {
    success: boolean;
    result: null;
    errors: { code: number; message: string }[];
    messages: [];
  };
  expect(body).toMatchObject({ success: false, result: null, messages: [] });
  expect(body.errors.length).toBeGreaterThan(0);
  expect(Number.isInteger(body.errors[0]?.code)).toBe(true);
  return body;
}

describe("health", () => {
  it("GET /healthz answers while the process runs", async () => {
    const response = await fetch(`${base}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  });

  it("GET /readyz names the runtime and its capabilities", async () => {
    const response = await fetch(`${base}/readyz`);
    expect(await response.json()).toMatchObject({
      status: "ready",
      runtime: expect.toBeOneOf([...inject("runtimes")]),
      capabilities: { actors: true },
    });
  });
});

describe("x-request-id", () => {
  it.each([
    ["GET", "/healthz"],
    ["GET", "/client/v4/user/tokens/verify"],
    ["GET", "/client/v4/nowhere"],
    ["HEAD", "/client/v4/user/tokens/verify"],
    ["POST", "/webhooks/nowhere"],
    ["GET", `${account}/ai-search/instances`],
  ])("of %s %s is the caller's, else one of the answer's own", async (method, path) => {
    const given = await fetch(base + path, {
      method,
      headers: { ...headers, "x-request-id": "an-id-of-the-caller" },
    });
    await given.body?.cancel();
    expect(given.headers.get("x-request-id")).toBe("an-id-of-the-caller");
    const own = await fetch(base + path, { method, headers });
    await own.body?.cancel();
    expect(own.headers.get("x-request-id")).toMatch(/^[\w-]{8,}$/u);
  });
});

describe("errors", () => {
  it.each(guarded)("%s %s answers 401 code 10000 without a token", async (method, path) => {
    const body = await expectEnvelope(await fetch(base + path, { method }), 401);
    expect(body.errors[0]?.code).toBe(10000);
  });

  it.each(guarded)(
    "%s %s answers 401 code 10000 with a token that does not exist",
    async (method, path) => {
      const wrong = { authorization: "Bearer causey_nobody_has_this_token_0000000000" };
      const body = await expectEnvelope(await fetch(base + path, { method, headers: wrong }), 401);
      expect(body.errors[0]?.code).toBe(10000);
    },
  );

  it.each([
    "/nowhere",
    "/client/v4/nowhere",
    `${account}/browser-rendering/nowhere`,
    `${account}/ai-search/nowhere`,
    `${account}/ai-gateway/nowhere`,
    `${account}/webhooks/nowhere`,
  ])("an unknown path %s answers 404 in the envelope", async (path) => {
    await expectEnvelope(await fetch(base + path, { headers }), 404);
  });

  it.each([
    ["DELETE", `${account}/browser-rendering/pdf`, "POST"],
    ["DELETE", `${account}/ai-search/instances/demo/search`, "POST"],
    ["GET", "/webhooks/demo", "POST"],
    ["POST", "/healthz", "GET"],
  ])("%s %s answers 405 with Allow", async (method, path, allowed) => {
    const response = await fetch(base + path, { method, headers });
    await expectEnvelope(response, 405);
    expect(response.headers.get("allow")).toContain(allowed);
  });
});

/** A part of 10 000 different ones on each runtime: which of them a route refuses is decided above the runtimes. */
const malformed = {
  count: 2_500,
  seed: ["node", "deno", "bun", "workers"].indexOf(inject("target")),
};

describe("malformed requests", () => {
  it(
    "2 500 of them leave the server up and are answered 4xx in the documented shape",
    LONG,
    async () => {
      const failures: string[] = [];
      const source = malformedRequests({ account, ...malformed });
      const worker = async (): Promise<void> => {
        for (const { path, init } of source) {
          const response = await fetch(base + path, {
            ...init,
            headers: { ...headers, ...init.headers },
          });
          const text = await response.text();
          const shaped = text.includes('"success":false') && text.includes('"errors":[{');
          if (response.status < 400 || response.status >= 500 || !shaped) {
            failures.push(
              `${init.method} ${path} ${String(init.body).slice(0, 80)} -> ${response.status} ${text.slice(0, 200)}`,
            );
          }
        }
      };
      await Promise.all(Array.from({ length: 16 }, worker));
      expect(failures.slice(0, 5)).toEqual([]);
      expect((await fetch(`${base}/readyz`)).status).toBe(200);
    },
  );
});

describe("misspelt names", () => {
  const gateway = {
    id: "misspelt",
    cache_invalidate_on_update: false,
    cache_ttl: 0,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
  };
  const rows: readonly [method: string, path: string, body: unknown, told: string][] = [
    ["POST", "/ai-gateway/gateways", { ...gateway, authentcation: true }, "authentication"],
    ["POST", "/ai-gateway/custom-providers", { nmae: "x" }, "name"],
    ["PATCH", "/ai-gateway/gateways/default/logs/1", { feedbakc: 1 }, "feedback"],
    ["DELETE", "/ai-gateway/gateways/default/logs?filter.key=model", null, "filters.key"],
    ["GET", "/ai-gateway/gateways?per_pgae=5", null, "per_page"],
    ["POST", "/browser-rendering/pdf", { html: "x", gotoOption: {} }, "gotoOptions"],
    ["POST", "/browser-run/links", { url: "x", viewport: { widht: 1 } }, "viewport.width"],
    ["POST", "/browser-rendering/pdf?cacheTtl=0", { html: "x" }, "cacheTTL"],
    ["POST", "/ai-search/instances/demo/search", { ai_search_option: {} }, "ai_search_options"],
    ["POST", "/ai-search/namespaces", { name: "x", descripton: "" }, "description"],
    ["GET", "/ai-search/instances?order=created_at&perpage=1", null, "per_page"],
    ["POST", "/webhooks/endpoints", { url: "https://x.example", ordred: true }, "ordered"],
    ["POST", "/webhooks/deliveries/replay", { endpoint: "x", sicne: "2026" }, "since"],
    ["GET", "/webhooks/deliveries?stauts=dead", null, "status"],
    ["POST", "/tokens", { name: "x", polices: [] }, "policies"],
  ];

  it.each(rows)("%s %s is refused with the nearest name", async (method, path, body, told) => {
    const init = body === null ? {} : { body: JSON.stringify(body) };
    const answer = await expectEnvelope(
      await fetch(`${base}${account}${path}`, { method, headers, ...init }),
      400,
    );
    expect(answer.errors[0]?.message).toMatch(/^Unknown (?:field|parameter) /);
    expect(answer.errors[0]?.message).toContain(`did you mean "${told}"?`);
  });

  it("an agent's ticket refuses them too", async () => {
    const answer = await fetch(`${base}/agents/webhook-agent/x/ticket`, {
      method: "POST",
      headers,
      body: JSON.stringify({ ttlSeconds: 5 }),
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('did you mean \\"ttl_seconds\\"?'),
    ]);
  });

  it("any other unknown field passes and is told", async () => {
    const answer = await fetch(`${base}${account}/ai-search/instances/nobody`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ novelty: true }),
    });
    expect(await answer.json()).toMatchObject({
      messages: [{ code: 10415, message: 'Unknown field "novelty" (ignored)' }],
    });
  });

  it.each([["/ai-gateway/gateways/echoed"], ["/ai-search/instances/demo"]])(
    "%s takes back what it has answered, without a word",
    async (path) => {
      const url = `${base}${account}${path}`;
      const post = { method: "POST", headers, body: JSON.stringify({ ...gateway, id: "echoed" }) };
      await fetch(`${base}${account}/ai-gateway/gateways`, post);
      const read = (await (await fetch(url, { headers })).json()) as { result: object };
      const body = JSON.stringify(read.result);
      const answer = await fetch(url, { method: "PUT", headers, body });
      expect(await answer.json()).toMatchObject({ success: true, errors: [], messages: [] });
    },
  );
});
