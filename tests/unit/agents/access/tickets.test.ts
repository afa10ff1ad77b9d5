import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { Authenticate } from "../../../../core/auth/authorize.ts";
import { bodyBudget } from "../../../../core/work/body-budget.ts";
import type { Platform } from "../../../../core/ports.ts";
import { watchedSockets } from "../../../fakes/agents-refusals.ts";

const data = `tickets-${Math.trunc(performance.now() * 1000)}`;
const agent = defineAgent({
  name: "Ticketed",
  clientState: true,
  onRequest: () => new Response("x"),
});

/** Tokens are named for what they may do. */
const auth: Authenticate = (request) => {
  const token = request.headers.get("authorization")?.replace("Bearer ", "");
  const permissions = { read: ["Agents Read"], edit: ["Agents Edit"] }[token ?? ""] as
    | ["Agents Read"]
    | undefined;
  if (permissions === undefined) return Promise.resolve(null);
  return Promise.resolve({
    id: token ?? "",
    kind: "token",
    grants: [{ permissions, accounts: ["local"] }],
  });
};

/** An app whose clock can be moved, and what its actors are asked. */
interface Subject {
  readonly app: Hono;
  readonly calls: string[];
  later(ms: number): void;
}

let platform: Platform;
let subject: Subject;

function build(own: Platform, origins?: readonly string[]): Subject {
  let offset = 0;
  const calls: string[] = [];
  const actors: Platform["actors"] = {
    define: (kind) => {
      own.actors.define(kind);
    },
    get: (kind, name) =>
      kind.startsWith("agents-ticket")
        ? own.actors.get(kind, name)
        : {
            call(method) {
              calls.push(`${method} ${kind} ${name}`);
              return Promise.resolve(null);
            },
            fetch() {
              calls.push(`${kind} ${name}`);
              return Promise.resolve(new Response());
            },
          },
  };
  const system = { ...own.system, now: () => own.system.now() + offset };
  const app = new Hono();
  const webSockets = watchedSockets((code) => calls.push(`refused ${code}`));
  const watched = { ...own, actors, system, webSockets };
  const more = origins === undefined ? {} : { origins };
  app.route("/agents", agents({ platform: watched, auth, agents: [agent], ...more }));
  return {
    app,
    calls,
    later: (ms) => {
      offset += ms;
    },
  };
}

beforeAll(async () => {
  platform = await openPlatform({ data });
  subject = build(platform);
});
afterAll(() => platform.close());

const request = (path: string, init?: RequestInit): Promise<Response> =>
  Promise.resolve(subject.app.fetch(new Request(`http://causey.test/agents${path}`, init)));

function post(path: string, token: string, body?: unknown): Promise<Response> {
  const text = body === undefined ? null : JSON.stringify(body);
  const headers = { authorization: `Bearer ${token}` };
  return request(path, { method: "POST", headers, body: text });
}

async function ticket(path = "/ticketed/a", token = "edit", body?: unknown): Promise<string> {
  const { result } = (await (await post(`${path}/ticket`, token, body)).json()) as {
    result: { ticket: string };
  };
  return result.ticket;
}

/** Tries to connect; what was reached: the agent, or the refusal with its close code. */
async function connected(
  path: string,
  shown: string,
  headers: Record<string, string> = {},
): Promise<string> {
  subject.calls.length = 0;
  const upgrade = { upgrade: "websocket", connection: "upgrade", "sec-websocket-key": "k" };
  await request(`${path}?ticket=${shown}`, { headers: { ...upgrade, ...headers } });
  return subject.calls.join(", ");
}

it("counts a ticket's body among those in memory", async () => {
  const { app } = build({ ...platform, bodies: bodyBudget(1000) });
  const send = (body: string) =>
    app.request("/agents/ticketed/a/ticket", {
      method: "POST",
      headers: { authorization: "Bearer edit" },
      body,
    });
  expect((await send(`{}${" ".repeat(20_000)}`)).status).toBe(429);
  expect((await send("{}")).status).toBe(201);
});

describe("POST /agents/{class}/{name}/ticket", () => {
  it("makes a ticket for a token with Agents Read, which says when it is over", async () => {
    const before = platform.system.now();
    const response = await post("/ticketed/a/ticket", "read");
    expect(response.status).toBe(201);
    const { result } = (await response.json()) as { result: { expires_at: string } };
    const seconds = (Date.parse(result.expires_at) - before) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(60);
    expect(seconds).toBeLessThan(70);
  });

  it("refuses no token, unknown classes, malformed bodies, and edit without Agents Edit", async () => {
    expect((await post("/ticketed/a/ticket", "nobody")).status).toBe(401);
    expect((await post("/unknown/a/ticket", "edit")).status).toBe(404);
    expect((await post("/ticketed/a/ticket", "read", { edit: true })).status).toBe(403);
    for (const body of [{ ttl_seconds: 0 }, { ttl_seconds: 3601 }, { extra: 1 }, { origin: "x" }])
      expect((await post("/ticketed/a/ticket", "edit", body)).status).toBe(400);
  });
});

describe("a ticket", () => {
  it("connects to its agent, without Agents Edit unless it was asked for", async () => {
    expect(await connected("/ticketed/a", await ticket())).toBe("agent:ticketed a");
    const editing = await ticket("/ticketed/a", "edit", { edit: true });
    expect(await connected("/ticketed/a", editing)).toBe(
      "admit agent:ticketed a, agent:ticketed a",
    );
  });

  it("follows the events of its agent", async () => {
    const stop = new AbortController();
    const path = `/ticketed/a/events?ticket=${await ticket()}`;
    const response = await request(path, { signal: stop.signal });
    expect(response.status).toBe(200);
    await response.body?.cancel();
    stop.abort();
  });

  it("is good for nothing else", async () => {
    const shown = await ticket("/ticketed/a", "edit", { edit: true });
    expect((await request(`/ticketed/a?ticket=${shown}`)).status).toBe(401);
    expect((await request(`/ticketed/a/ticket?ticket=${shown}`, { method: "POST" })).status).toBe(
      401,
    );
    expect((await request(`/ticketed/a?token=${shown}`)).status).toBe(401);
  });

  it("of another agent is refused with 4003", async () => {
    const shown = await ticket();
    expect(await connected("/ticketed/b", shown)).toBe("refused 4003");
    expect(await connected("/webhook-agent/a", shown)).toBe("refused 4003");
  });

  it("that was changed anywhere, or is none, is refused with 4001", async () => {
    const shown = await ticket();
    const at = (index: number): string =>
      shown.slice(0, index) + (shown[index] === "A" ? "B" : "A") + shown.slice(index + 1);
    const dot = shown.indexOf(".");
    const bad = [at(0), at(dot - 1), at(dot + 1), at(dot + 20), `${shown}.x`, shown.slice(0, dot)];
    for (const one of [...bad, ".", "", "x".repeat(20_000)])
      expect(await connected("/ticketed/a", one)).toBe("refused 4001");
  });

  it("is bound to an origin when asked for", async () => {
    const shown = await ticket("/ticketed/a", "read", { origin: "https://app.test" });
    expect(await connected("/ticketed/a", shown, { origin: "https://app.test" })).toBe(
      "agent:ticketed a",
    );
    expect(await connected("/ticketed/a", shown, { origin: "https://evil.test" })).toBe(
      "refused 4003",
    );
    expect(await connected("/ticketed/a", shown)).toBe("refused 4003");
  });

  it("works after a restart, but not when its time is over", async () => {
    const shown = await ticket();
    await platform.close();
    platform = await openPlatform({ data });
    subject = build(platform);
    expect(await connected("/ticketed/a", shown)).toBe("agent:ticketed a");
    subject.later(61_000);
    expect(await connected("/ticketed/a", shown)).toBe("refused 4001");
  });
});

describe("origins", () => {
  it("keep pages of other origins from connecting and from following", async () => {
    subject = build(platform, ["https://app.test"]);
    const shown = await ticket();
    const from = (origin: string): Promise<string> => connected("/ticketed/a", shown, { origin });
    expect(await from("https://evil.test")).toBe("refused 4003");
    expect(await from("null")).toBe("refused 4003");
    expect(await from("https://app.test")).toBe("agent:ticketed a");
    const headers = { origin: "https://evil.test" };
    const path = `/ticketed/a/events?ticket=${shown}`;
    expect((await request(path, { headers })).status).toBe(403);
  });
});
