import { openPlatform } from "#platform";
import { afterAll, beforeAll, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import type { Platform } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";

const TOKEN = "token-of-the-configuration";
const ORIGIN = "https://app.example";

const lines: Readonly<Record<string, unknown>>[] = [];
let platform: Platform;
let api: PlatformApi;

beforeAll(async () => {
  platform = {
    ...(await openPlatform()),
    log: (_level, message, fields = {}) => void (message === "Request" && lines.push(fields)),
  };
  api = platformApi({
    platform,
    demo: true,
    accessLog: true,
    tokens: [{ token: TOKEN, permissions: ["*"], accounts: ["*"] }],
    agentAccess: { origins: [ORIGIN] },
  });
});
afterAll(() => platform.close());

/** Sends a request to each route: `how` makes it one that is refused. */
async function refusals(how: RequestInit): Promise<typeof lines> {
  lines.length = 0;
  let sent = 0;
  const asked = new Set<string>();
  for (const { method, path } of api.routes) {
    const url = path.replaceAll(/:[\w]+(?:\{[^}]*\})?\??/g, "none").replaceAll("*", "none");
    const verb = method === "ALL" ? "PUT" : method;
    // Streams and uploads of clients that stay are another matter.
    if (asked.has(`${verb} ${url}`) || url.endsWith("/tail")) continue;
    asked.add(`${verb} ${url}`);
    const hasBody = verb !== "GET" && verb !== "HEAD";
    const response = await api.request(url, {
      ...how,
      method: verb,
      ...(hasBody ? { body: "{" } : {}),
    });
    sent += 1;
    await response.body?.cancel();
  }
  await eventually(() => lines.length >= sent, "a line of each request");
  return lines.filter(({ status }) => Number(status) >= 400);
}

it.each([
  ["without a token", {}],
  ["with a bad body", { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" }],
  ["of a page", { origin: ORIGIN, authorization: `Bearer ${TOKEN}` }],
] as const)(
  "every refusal of every route has its reason in the log, %s",
  async (_name, headers) => {
    const refused = await refusals({ headers });
    expect(refused.length).toBeGreaterThan(50);
    const silent = refused
      .filter(({ error, reason, bytes, method }) => {
        const isWhole = bytes !== undefined && (method === "HEAD" || bytes !== 0);
        return typeof error !== "string" || typeof reason !== "string" || !isWhole;
      })
      .map(({ method, route, status, error }) => [method, route, status, error].join(" "));
    expect(silent).toEqual([]);
  },
);

it("answers of a provider, of a host's route and of its middleware have a reason, too", async () => {
  lines.length = 0;
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const chat = { model: "echo/echo", messages: [] };
  const other = { ...(await openPlatform()), log: platform.log };
  const own = platformApi({ platform: other, accessLog: true });
  own.get("/teapot", (c) => c.text("I am a teapot", 418));
  // Hono makes a new answer, without our note, when a header is set behind `next()`.
  own.use("/framed/*", async (c, next) => {
    await next();
    c.header("x-frame-options", "DENY");
  });
  own.get("/framed/one", () => {
    throw new Error("On purpose");
  });
  await api.request("/v1/chat/completions", {
    method: "POST",
    headers,
    body: JSON.stringify(chat),
  });
  await own.request("/teapot");
  await own.request("/framed/one");
  await own.request("/framed/two");
  await eventually(() => lines.length >= 4, "a line of each request");
  expect(lines.map(({ status, error, reason }) => [status, error, typeof reason])).toEqual([
    [400, "provider_answer", "string"],
    [418, "host_answer", "string"],
    [500, "host_answer", "string"],
    [404, expect.any(String), "string"],
  ]);
  expect(JSON.stringify(lines)).not.toContain("On purpose");
  await other.close();
});
