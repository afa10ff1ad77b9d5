import { openPlatform } from "#platform";
import type { Hono } from "hono";
import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../core/http/api-error.ts";
import { platformApi } from "../../../core/api.ts";
import type { Platform } from "../../../core/ports.ts";
import {
  mayAsk,
  type PublicEndpointParams,
  publicEndpoint,
} from "../../../core/search/state/public-endpoint.ts";
import { visitCounter } from "../../../core/search/state/visit-counter.ts";
import { searchParts } from "../../../core/search/mod.ts";
import { eventually } from "../../cases/eventually.ts";

const opened = (params: PublicEndpointParams) =>
  publicEndpoint({ enabled: true, authorized_hosts: ["docs.example.com"], ...params });

describe("the settings of a public endpoint", () => {
  it("are closed unless they say otherwise, and complete", () => {
    expect(publicEndpoint({})).toEqual({
      enabled: false,
      authorized_hosts: [],
      requests_without_origin: false,
      search_endpoint: { disabled: false },
      chat_completions_endpoint: { disabled: false },
      mcp: { disabled: true },
      rate_limit: { period_ms: 60_000, requests: 120, total_requests: 1200, technique: "fixed" },
    });
  });

  it("take hosts and origins, and nothing that an origin cannot be", () => {
    const hosts = ["docs.example.com", "HTTP://localhost:3000", "https://a.example:443", "*"];
    expect(publicEndpoint({ authorized_hosts: hosts }).authorized_hosts).toEqual([
      "https://docs.example.com",
      "http://localhost:3000",
      "https://a.example",
      "*",
    ]);
    for (const host of [
      "",
      "https://a.example/docs",
      "a b",
      "ftp://a.example",
      "https://u@a.example",
      "*.example.com",
      "https://*",
    ])
      expect(() => publicEndpoint({ authorized_hosts: [host] }), host).toThrow("is not an origin");
    expect(() => publicEndpoint({ enabled: true })).toThrow("nobody could ask");
  });

  it("let in pages of these origins alone, and no request without one", () => {
    const endpoint = opened({});
    expect(mayAsk(endpoint, "https://docs.example.com")).toBe(true);
    for (const other of ["http://docs.example.com", "https://docs.example.com.evil", "null", null])
      expect(mayAsk(endpoint, other)).toBe(false);
    expect(mayAsk(opened({ requests_without_origin: true }), null)).toBe(true);
    const all = opened({ authorized_hosts: ["*"] });
    expect([mayAsk(all, "https://any.example"), mayAsk(all, null)]).toEqual([true, false]);
  });
});

describe("the limits of a public endpoint", () => {
  it("hold for each address, and one that is refused takes nothing from all", () => {
    let now = 0;
    const visits = visitCounter(() => now);
    const endpoint = opened({ rate_limit: { requests: 2, total_requests: 3, period_ms: 1000 } });
    const ask = (network: string): boolean => visits.admit(endpoint, network) === 0;
    expect([ask("a"), ask("a"), ask("a"), ask("a")]).toEqual([true, true, false, false]);
    expect([ask("b"), ask("b")]).toEqual([true, false]);
    now = 1000;
    expect([ask("c"), ask("a"), ask("b"), ask("b")]).toEqual([true, true, true, false]);
  });

  it("forget the addresses that asked longest ago, not the one that asks", () => {
    const visits = visitCounter(() => 0);
    const endpoint = opened({ rate_limit: { requests: 1, total_requests: 100_000 } });
    for (let n = 0; n < 10_001; n++) expect(visits.admit(endpoint, `n${n}`)).toBe(0);
    expect(visits.admit(endpoint, "n10000")).toBeGreaterThan(0);
    expect(visits.admit(endpoint, "n0")).toBe(0);
  });
});

describe("a request to a public endpoint", () => {
  let platform: Platform | undefined;
  afterEach(async () => {
    await platform?.close();
    platform = undefined;
  });

  it("is in the log with the page and the network of its visitor, which a proxy tells", async () => {
    const real = await openPlatform();
    platform = real;
    const lines: Record<string, unknown>[] = [];
    const api = platformApi({
      platform: { ...real, log: (_level, _text, fields) => void lines.push({ ...fields }) },
      auth: "off",
      accessLog: true,
      proxies: 1,
    });
    const send = (path: string, init: RequestInit): Promise<Response> =>
      Promise.resolve(api.fetch(new Request(`http://test${path}`, { method: "POST", ...init })));
    const created = await send("/client/v4/accounts/acme/ai-search/instances", {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        id: "docs",
        public_endpoint_params: {
          enabled: true,
          authorized_hosts: ["docs.example.com"],
          rate_limit: { requests: 1, period_ms: 3_600_000, technique: "sliding" },
        },
      }),
    });
    const { result } = (await created.json()) as { result: { public_endpoint_id: string } };
    const ask = (address: string, origin: string): Promise<Response> =>
      send(`/ai-search/${result.public_endpoint_id}/search`, {
        headers: { "content-type": "application/json", origin, "x-forwarded-for": address },
        body: '{"query":"ferry"}',
      });
    const site = "https://docs.example.com";
    const statuses: number[] = [];
    for (const [address, origin] of [
      ["203.0.113.7", site],
      ["1.1.1.1, 203.0.113.7", site],
      ["203.0.113.8", site],
      ["203.0.113.9", "https://evil.example"],
    ] as const)
      statuses.push((await ask(address, origin)).status);
    // What a visitor writes in front of the proxy's word makes no other address of it.
    expect(statuses).toEqual([200, 429, 200, 403]);
    const asked = (): Record<string, unknown>[] =>
      lines.filter(({ route }) => route === "/ai-search/:endpoint_id/search");
    await eventually(() => asked().length === 4, "four lines");
    expect(asked().map(({ caller }) => caller)).toEqual([
      `${site} from 203.0.113.7`,
      `${site} from 203.0.113.7`,
      `${site} from 203.0.113.8`,
      "https://evil.example from 203.0.113.9",
    ]);
  });

  it("that fails says nothing of what a model or its provider told", async () => {
    const real = await openPlatform();
    platform = real;
    const logged: unknown[] = [];
    const told = "organisation org-77, key sk-abc***xyz";
    const fail = (): Promise<never> =>
      Promise.reject(new ApiError("unavailable", { message: `The embedder answered ${told}` }));
    const { routes, publicRoutes } = searchParts({
      platform: { ...real, log: (_level, _text, fields) => void logged.push(fields) },
      auth: "off",
      chatModel: () =>
        Promise.resolve(Response.json({ error: { message: told } }, { status: 429 })),
      embedder: {
        model: "far",
        dimensions: 2,
        embed: (texts, kind) =>
          kind === "query" ? fail() : Promise.resolve(texts.map(() => Float32Array.of(1, 0))),
      },
    });
    const send = (app: Hono, path: string, body: unknown): Promise<Response> => {
      const headers = { "content-type": "application/json", origin: "https://a.example" };
      return Promise.resolve(
        app.request(path, { method: "POST", headers, body: JSON.stringify(body) }),
      );
    };
    const own = "/accounts/acme/ai-search/instances";
    const created = await send(routes, own, {
      id: "docs",
      index_method: { vector: true, keyword: true },
      public_endpoint_params: { enabled: true, authorized_hosts: ["a.example"] },
    });
    const { result } = (await created.json()) as { result: { public_endpoint_id: string } };
    const form = new FormData();
    form.set("file", new File(["The ferry leaves at noon."], "a.md", { type: "text/markdown" }));
    form.set("wait_for_completion", "true");
    const path = `${own}/docs/items`;
    const encoded = new Response(form);
    const type = { "content-type": encoded.headers.get("content-type") ?? "" };
    await routes.request(path, {
      method: "POST",
      headers: type,
      body: await encoded.arrayBuffer(),
    });
    const messages = [{ role: "user", content: "When does the ferry leave?" }];
    const asks = [
      ["/search", { query: "ferry" }, 200, "Temporarily unavailable"],
      ["/chat/completions", { messages }, 500, "The chat model failed"],
      ["/chat/completions", { messages, stream: true }, 200, "The chat model failed"],
    ] as const;
    for (const [route, body, status, says] of asks) {
      const visited = await send(
        publicRoutes,
        `/ai-search/${result.public_endpoint_id}${route}`,
        body,
      );
      const text = await visited.text();
      expect([route, visited.status, text.includes(says)]).toEqual([route, status, true]);
      expect(text).not.toContain("org-77");
      // With a token it is told.
      expect(await (await send(routes, `${own}/docs${route}`, body)).text()).toContain("org-77");
    }
    expect(JSON.stringify(logged)).toContain("org-77");
  });
});
