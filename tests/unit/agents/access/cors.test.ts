import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";

const agent = defineAgent({
  name: "Paged",
  onRequest: (_agent, request) =>
    new Response(request.method, {
      headers: new URL(request.url).searchParams.has("own")
        ? { "access-control-allow-origin": "https://own.test" }
        : { vary: "Accept" },
    }),
});
const APP = "https://app.test";

let platform: Platform;
let ask: (path: string, headers: Record<string, string>, method?: string) => Promise<Response>;
beforeAll(async () => {
  platform = await openPlatform();
  const app = agents({ platform, auth: "off", agents: [agent], origins: [APP] });
  ask = async (path, headers, method = "GET") => app.request(path, { method, headers });
});
afterAll(() => platform.close());

const preflight = (origin: string, more: Record<string, string> = {}): Record<string, string> => ({
  origin,
  "access-control-request-method": "POST",
  ...more,
});

describe("agent routes of another origin's page", () => {
  it("answer the preflight of an allowed origin with what it asks for, and no agent is started", async () => {
    const headers = preflight(APP, { "access-control-request-headers": "authorization,x-own" });
    for (const path of ["/paged/a", "/paged/a/deeper", "/paged/a/events", "/paged/a/ticket"]) {
      const answer = await ask(path, headers, "OPTIONS");
      expect(answer.status).toBe(204);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "access-control-allow-origin": APP,
        "access-control-allow-methods": expect.stringContaining("POST"),
        "access-control-allow-headers": "authorization,x-own",
      });
    }
  });

  it("echo no malformed or endless list of headers", async () => {
    for (const asked of ["a b", "x,", "x".repeat(2000), "x;y"]) {
      const headers = preflight(APP, { "access-control-request-headers": asked });
      const answer = await ask("/paged/a", headers, "OPTIONS");
      expect(answer.headers.get("access-control-allow-headers")).toBe(
        "authorization, content-type, last-event-id",
      );
    }
  });

  it("are readable for an allowed origin, errors too, and vary by origin for everybody", async () => {
    const found = await ask("/paged/a", { origin: APP });
    expect([found.status, await found.text()]).toEqual([200, "GET"]);
    expect(found.headers.get("access-control-allow-origin")).toBe(APP);
    expect(found.headers.get("access-control-allow-credentials")).toBeNull();
    expect(found.headers.get("vary")).toBe("Accept, Origin");
    const missing = await ask("/unknown/a", { origin: APP });
    expect([missing.status, missing.headers.get("access-control-allow-origin")]).toEqual([
      404,
      APP,
    ]);
    expect((await ask("/paged/a", {})).headers.get("vary")).toContain("Origin");
  });

  it("allow no other origin anything: no mark, and a preflight is a request like any other", async () => {
    for (const origin of ["https://evil.test", `${APP}.evil.test`, "null", "http://app.test"]) {
      const answer = await ask("/paged/a", { origin });
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      const asked = await ask("/paged/a", preflight(origin), "OPTIONS");
      expect(asked.status).not.toBe(204);
      expect([...asked.headers.keys()].filter((name) => name.startsWith("access-"))).toEqual([]);
    }
  });

  it("are closed to all origins without the option", async () => {
    const closed = agents({ platform, auth: "off", agents: [agent] });
    const answer = await closed.request("/paged/a", { headers: { origin: APP } });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    const asked = await closed.request("/paged/a", { method: "OPTIONS", headers: preflight(APP) });
    expect([...asked.headers.keys()].filter((name) => name.startsWith("access-"))).toEqual([]);
  });

  it("leave what the agent itself allows", async () => {
    const answer = await ask("/paged/a?own", { origin: APP });
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://own.test");
  });

  it("refuse at start what no browser sends as an origin", () => {
    for (const origin of ["app.test", "https://app.test/", "https://APP.test", "*"]) {
      expect(() => agents({ platform, auth: "off", origins: [origin] })).toThrow(
        "is not an origin",
      );
    }
  });
});
