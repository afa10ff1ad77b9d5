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
      runtime: inject("target"),
      capabilities: { actors: true },
    });
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

describe("malformed requests", () => {
  it(
    "10 000 of them leave the server up and are answered 4xx in the documented shape",
    LONG,
    async () => {
      const failures: string[] = [];
      const source = malformedRequests({ account, count: 10_000, seed: 1 });
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
