import { afterAll, describe, expect, it } from "vitest";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { GATEWAY_TOKEN } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import {
  type Routed,
  ask,
  closeRouted,
  reply,
  routed,
  tools,
} from "../../../fakes/gateway-auto-router.ts";

afterAll(closeRouted);
const image = [
  {
    role: "user",
    content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
  },
];

describe("fallbacks of the automatic router", () => {
  const failing = (on: Routed, status: number): void => {
    const { behave } = on.transport;
    on.transport.behave = (request, index) =>
      request.url.includes("groq") ? jsonReply({ error: "no" }, status) : behave(request, index);
  };

  it.each([500, 429, 401, 404])(
    "go on with the next model after a %d, and leave the first one out for a while",
    async (status) => {
      const on = await routed();
      failing(on, status);
      const first = await ask(on, { "cf-aig-max-attempts": "1" });
      expect(first).toMatchObject({
        status: 200,
        model: "google/middle",
        reason: "fallback_candidate_unavailable",
      });
      expect(on.transport.requests).toHaveLength(2);
      const next = await ask(on);
      expect(next).toMatchObject({ model: "google/middle", reason: "cost_optimal_within_pool" });
      expect(on.transport.requests).toHaveLength(3);
    },
  );

  it("do not hold a bad request against a model", async () => {
    const on = await routed();
    failing(on, 400);
    await ask(on);
    await ask(on);
    expect(on.transport.requests.filter(({ url }) => url.includes("groq"))).toHaveLength(2);
  });

  it("do not hold a caller's own key or impatience against a model", async () => {
    const on = await routed();
    const own = { authorization: "Bearer sk-own", "cf-aig-allowed-providers": "groq" };
    failing(on, 401);
    expect((await ask(on, own)).status).toBe(401);
    const { behave } = on.transport;
    on.transport.behave = (request) =>
      request.url.includes("groq")
        ? Promise.reject(new TransportError("unreachable", "too late"))
        : jsonReply(reply);
    await ask(on, { "cf-aig-request-timeout": "1" });
    on.transport.behave = behave;
    on.transport.requests.length = 0;
    await ask(on);
    expect(on.transport.requests[0]?.url).toContain("groq");
  });

  it("end with the last model's own answer", async () => {
    const on = await routed();
    on.transport.behave = () => jsonReply({ error: { message: "down" } }, 503);
    const { status, model } = await ask(on);
    expect([status, model]).toEqual([503, "openai/dear"]);
    // All of them fail now, which is no reason not to ask.
    expect((await ask(on)).status).toBe(503);
  });

  it("leave a row for each model that was tried", async () => {
    const on = await routed();
    failing(on, 500);
    await ask(on, { "cf-aig-event-id": "fell-back" });
    const rows = await on.rowsOf("open", "fell-back", 2);
    const tried = rows.map(({ provider, success }) => `${String(provider)} ${String(success)}`);
    expect(tried.toSorted()).toEqual(["google-ai-studio true", "groq false"]);
  });

  it("take a caller's key to no provider that the caller did not choose", async () => {
    const on = await routed();
    const key = { authorization: "Bearer sk-of-the-caller" };
    const sent = async (headers: Record<string, string>, body = {}): Promise<unknown> => {
      await ask(on, { ...key, ...headers }, body);
      return on.transport.requests.at(-1)?.headers;
    };
    const all = [
      await sent({}),
      // Able is another thing than chosen.
      await sent({}, { messages: image, tools }),
    ];
    expect(JSON.stringify(all)).not.toContain("sk-of-the-caller");
    expect(JSON.stringify(await sent({ "cf-aig-allowed-providers": "openai" }))).toContain(
      "Bearer sk-of-the-caller",
    );
  });
});

describe("session affinity", () => {
  const turn = (...said: string[]) => ({
    messages: said.flatMap((content) => [
      { role: "user", content },
      { role: "assistant", content: "x" },
    ]),
  });
  const session = { "cf-aig-session-id": "s" };
  const onlyDear = { "cf-aig-allowed-providers": "openai" };

  it("keeps the model of a turn", async () => {
    const on = await routed();
    await ask(on, { ...session, ...onlyDear }, turn("a"));
    const same = await ask(on, session, turn("a"));
    expect(same).toMatchObject({ model: "openai/dear", reason: "pinned_by_turn" });
    const next = await ask(on, session, turn("a", "b"));
    expect(next).toMatchObject({ model: "groq/cheap", reason: "cost_optimal_within_pool" });
  });

  it("takes turns as a header marks them", async () => {
    const on = await routed();
    const marked = { ...session, "cf-aig-turn-id": "1" };
    await ask(on, { ...marked, ...onlyDear }, turn("a"));
    expect((await ask(on, marked, turn("a", "b"))).reason).toBe("pinned_by_turn");
    const other = { ...session, "cf-aig-turn-id": "2" };
    expect((await ask(on, other, turn("a", "b"))).model).toBe("groq/cheap");
  });

  it("stays with the model that has the prompt in its cache while that is cheaper", async () => {
    const on = await routed();
    const long = "x".repeat(400_000);
    await ask(on, { ...session, ...onlyDear }, turn(long));
    expect((await ask(on, session, turn(long, "b"))).model).toBe("openai/dear");
    expect((await ask(on, {}, turn(long, "b"))).model).toBe("groq/cheap");
  });

  it.each([
    ["another session", { "cf-aig-session-id": "t" }, "open"],
    ["a request without one", {}, "open"],
    ["no-session-affinity", { ...session, "cf-aig-no-session-affinity": "true" }, "open"],
    [
      "another gateway",
      { ...session, "cf-aig-authorization": `Bearer ${GATEWAY_TOKEN}` },
      "closed",
    ],
  ])("is not there for %s", async (_, headers, gateway) => {
    const on = await routed();
    await ask(on, { ...session, ...onlyDear });
    const path = `${gateway}/compat/chat/completions`;
    expect((await ask(on, headers, {}, path)).model).toBe("groq/cheap");
  });

  it("gives way to what a request needs and allows", async () => {
    const on = await routed();
    const marked = { ...session, "cf-aig-turn-id": "1" };
    expect((await ask(on, marked)).model).toBe("groq/cheap");
    expect((await ask(on, marked, { messages: image })).model).toBe("google/middle");
    expect((await ask(on, { ...marked, ...onlyDear })).model).toBe("openai/dear");
  });

  it("pins the model that took over", async () => {
    const on = await routed();
    const { behave } = on.transport;
    on.transport.behave = (request, index) =>
      request.url.includes("groq") ? jsonReply({}, 400) : behave(request, index);
    expect((await ask(on, session)).model).toBe("google/middle");
    expect(await ask(on, session)).toMatchObject({
      model: "google/middle",
      reason: "pinned_by_turn",
    });
  });

  it("remembers no more sessions than it may", async () => {
    const on = await routed({ sessions: 1 });
    await ask(on, { ...session, ...onlyDear });
    await ask(on, { "cf-aig-session-id": "t", ...onlyDear });
    expect((await ask(on, session)).model).toBe("groq/cheap");
  });
});
