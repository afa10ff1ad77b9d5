import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;

beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: {
      openai: { baseUrl: "http://upstream.test/v1" },
      groq: { apiKey: "configured" },
      anthropic: { apiKey: "configured" },
      "google-ai-studio": { apiKey: "configured" },
    },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.behave = () => jsonReply({ ok: true });
});

const failure = async (response: Response): Promise<[number, number, string]> => {
  const body = (await response.json()) as { error: [{ code: number; message: string }] };
  return [response.status, body.error[0].code, body.error[0].message];
};
const step = (more = {}) => ({ provider: "openai", endpoint: "chat/completions", ...more });

describe("a malformed gateway header", () => {
  const malformed = { "gw-aig-max-attempts": "9" };
  const otherId = { ...malformed, "cf-aig-event-id": "e" };

  it("is a 400 under the name that it was sent by", async () => {
    const sent = { ...jsonInit(chat, malformed), token: GATEWAY_TOKEN };
    const [status, , message] = await failure(await gate.send("closed/openai/x", sent));
    expect([status, message]).toEqual([400, expect.stringContaining("gw-aig-max-attempts")]);
    expect((await gate.send("open/openai/x", jsonInit(chat, otherId))).status).toBe(400);
    const trace = jsonInit(chat, { "gw-aig-otel-trace-id": "x" });
    expect((await failure(await gate.send("open/openai/x", trace)))[2]).toContain("gw-aig-otel");
  });

  it("tells nobody anything who may not come in", async () => {
    const refused = await failure(await gate.send("closed/openai/x", jsonInit(chat, malformed)));
    expect(refused.slice(0, 2)).toEqual([401, 2009]);
    const unknown = await failure(await gate.send("nope/openai/x", jsonInit(chat, malformed)));
    expect(unknown).toEqual(refused);
  });

  it.each([null, "wrong", "read-only"])(
    "does not tell who may not come in which gateways there are (token: %s)",
    async (token) => {
      const compat = { ...chat, model: "openai/x" };
      const steps = [{ provider: "openai", endpoint: "x", query: {} }];
      const requests = [
        ["openai/x", chat],
        ["compat/chat/completions", compat],
        ["", steps],
      ] as const;
      for (const [path, body] of requests) {
        const answers = await Promise.all(
          ["closed", "nope", "x".repeat(65), "..."].map(async (id) => {
            const answer = await gate.send(`${id}/${path}`, { ...jsonInit(body), token });
            return [answer.status, await answer.text(), [...answer.headers.keys()]];
          }),
        );
        expect(answers[0]?.[0]).toBe(401);
        expect(answers).toEqual(answers.map(() => answers[0]));
      }
    },
  );

  it("makes no gateway", async () => {
    const fresh = await gatewayUnderTest({ gateways: {} });
    const sent = { ...jsonInit(chat, malformed), token: API_TOKEN };
    expect((await fresh.send("default/openai/x", sent)).status).toBe(400);
    expect((await fresh.manage("/gateways")).body.result).toEqual([]);
    await fresh.close();
  });
});

it("a 401 names the header whose token is wrong, and the one that is wanted", async () => {
  const body = { ...chat, model: "openai/x" };
  const given = { authorization: "Bearer sk-provider" };
  const [, , message] = await failure(
    await gate.send("closed/compat/chat/completions", jsonInit(body, given)),
  );
  expect(message).toMatch(
    /token in Authorization .*send "authorization: Bearer <TOKEN>" \(or cf-aig-authorization\)/,
  );
});

describe("the client's event id", () => {
  const event = (id: string) => ({ "cf-aig-event-id": id });

  it("comes back with errors of the gateway, and finds their rows", async () => {
    gate.transport.behave = () => Promise.reject(new TransportError("unreachable", "refused"));
    for (const [path, body, id] of [
      ["open/openai/x", chat, "alone"],
      ["open", [step()], "steps"],
      ["open/compat/chat/completions", { ...chat, model: "openai/x" }, "unified"],
    ] as const) {
      const answer = await gate.send(path, jsonInit(body, event(id)));
      expect(answer.status).toBe(502);
      for (const prefix of ["cf", "gw"])
        expect(answer.headers.get(`${prefix}-aig-event-id`)).toBe(id);
      expect(await gate.rowsOf("open", id, 1)).toMatchObject([{ success: false }]);
    }
  });

  it("that holds the token is not repeated", async () => {
    const sent = { ...jsonInit(chat, event(GATEWAY_TOKEN)), token: GATEWAY_TOKEN };
    const answer = await gate.send("closed/openai/x", sent);
    expect(answer.status).toBe(400);
    expect(JSON.stringify([...answer.headers])).not.toContain(GATEWAY_TOKEN);
  });

  it.each(["☃", "two\r\nlines"])(
    "%j of a step is refused before a provider is asked",
    async (id) => {
      const answer = await gate.send("open", jsonInit([step({ config: { eventId: id } })]));
      expect(answer.status).toBe(400);
      expect(gate.transport.requests).toEqual([]);
    },
  );
});

describe("a step", () => {
  const asked = async (given: object): Promise<string | undefined> => {
    expect((await gate.send("open", jsonInit([step(given)]))).status).toBe(200);
    return sentHeaders(gate.transport.requests[0])["authorization"];
  };

  it("may hold its credential beside its headers, which outrank it", async () => {
    expect(await asked({ authorization: "Bearer sk-old" })).toBe("Bearer sk-old");
  });

  it("takes its headers' credential where both are given", async () => {
    const headers = { Authorization: "Bearer sk-new" };
    expect(await asked({ authorization: "Bearer sk-old", headers })).toBe("Bearer sk-new");
  });

  it("may have objects in its config, and any text in gateway headers", async () => {
    const headers = { "cf-aig-metadata": '{"city":"東京"}', "cf-aig-event-id": "city" };
    expect((await gate.send("open", jsonInit([step({ headers })]))).status).toBe(200);
    const config = { metadata: { city: "Oslo" }, customCost: { total_cost: 0.5 }, eventId: "cost" };
    expect((await gate.send("open", jsonInit([step({ config })]))).status).toBe(200);
    const [japan] = await gate.rowsOf("open", "city", 1);
    const [norway] = await gate.rowsOf("open", "cost", 1);
    expect(japan).toMatchObject({ metadata: '{"city":"東京"}' });
    expect(norway).toMatchObject({ metadata: '{"city":"Oslo"}', cost: 0.5 });
  });
});

it.each([
  ["groq/x", { authorization: "" }, "authorization", "Bearer configured"],
  ["groq/x", { authorization: "Bearer" }, "authorization", "Bearer configured"],
  ["groq/x", { authorization: "Bearer own" }, "authorization", "Bearer own"],
  ["anthropic/chat/completions", { authorization: "Bearer" }, "x-api-key", "configured"],
  ["google-ai-studio/x?key=", { authorization: "bearer " }, "x-goog-api-key", "configured"],
  ["google-ai-studio/x?key=own", {}, "x-goog-api-key", undefined],
])("%s with %j is sent with %s %s", async (path, headers, name, value) => {
  await gate.send(`open/${path}`, jsonInit(chat, headers));
  const sent = sentHeaders(gate.transport.requests[0]);
  expect(sent[name]).toBe(value);
  if (name !== "authorization") expect(sent["authorization"]).toBeUndefined();
});

it("compat2005 gives a provider without an answer the hosted service's status", async () => {
  const compat = await gatewayUnderTest({ compat2005: 400 });
  compat.transport.behave = () => Promise.reject(new TransportError("unreachable", "refused"));
  for (const [path, body] of [
    ["open/groq/x", chat],
    ["open", [step(), { ...step(), provider: "groq" }]],
    ["open/compat/chat/completions", { ...chat, model: "groq/x" }],
  ] as const) {
    const [status, code] = await failure(await compat.send(path, jsonInit(body)));
    expect([status, code]).toEqual([400, 2005]);
  }
  await compat.close();
});
