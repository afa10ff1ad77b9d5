import { afterAll, beforeAll, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { gateway } from "../../../../core/gateway/mod.ts";
import type { Platform } from "../../../../core/ports.ts";

const APP = "https://app.test";
const CHAT = "/v1/chat/completions";
const preflight = { "access-control-request-method": "POST" };

let platform: Platform;
let ask: (path: string, init: RequestInit) => Promise<Response>;
beforeAll(async () => {
  platform = await openPlatform();
  const app = gateway({ platform, auth: "off", demo: true, origins: [APP] });
  ask = async (path, init) => app.request(path, init);
});
afterAll(() => platform.close());

it("a page of a listed origin may ask the gateway, and read refusals", async () => {
  for (const path of [CHAT, "/v1/local/default/echo/chat/completions"]) {
    const headers = {
      origin: APP,
      ...preflight,
      "access-control-request-headers": "cf-aig-authorization",
    };
    const allowed = await ask(path, { method: "OPTIONS", headers });
    expect([allowed.status, allowed.headers.get("access-control-allow-headers")]).toEqual([
      204,
      "cf-aig-authorization",
    ]);
  }
  const body = JSON.stringify({ model: "echo/echo", messages: [{ role: "user", content: "Hi" }] });
  const headers = { origin: APP, "content-type": "application/json" };
  for (const [text, status] of [
    [body, 200],
    ["{", 400],
  ] as const) {
    const answer = await ask(CHAT, { method: "POST", headers, body: text });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([
      status,
      APP,
    ]);
    expect(answer.headers.get("vary")).toContain("Origin");
    await answer.body?.cancel();
  }
});

it("a page of another origin gets no header, and no WebSocket", async () => {
  const origin = "https://other.test";
  const refused = await ask(CHAT, { method: "OPTIONS", headers: { origin, ...preflight } });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([405, null]);
  const upgrade = { origin, upgrade: "websocket", connection: "Upgrade" };
  const socket = await ask("/v1/local/default", { headers: upgrade });
  expect([socket.status, await socket.text()]).toEqual([
    403,
    expect.stringContaining("Pages of this origin may not use this server"),
  ]);
});

it("without the option no page may read, and a misspelt origin is refused at the start", async () => {
  const closed = gateway({ platform, auth: "off", demo: true });
  const answer = await closed.request(CHAT, {
    method: "OPTIONS",
    headers: { origin: APP, ...preflight },
  });
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([405, null]);
  expect(() => gateway({ platform, origins: ["app.test"] })).toThrow("is not an origin");
});
