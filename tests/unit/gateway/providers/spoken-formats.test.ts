import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../../core/config/parse-config.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";
import { ask, native } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: {
      "custom-chat": { baseUrl: "http://127.0.0.1:11434/v1", speaks: ["chat"] },
      "custom-all": {
        baseUrl: "https://all.example/v1",
        speaks: ["chat", "responses", "messages"],
      },
      "custom-unsaid": { baseUrl: "https://unsaid.example/v1", apiKey: "sk-own" },
    },
  });
});
afterEach(() => gate.close());

const send = (format: string, slug: string): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ ...ask, input: "Hi", model: `${slug}/llama` }));
const paths = (): string[] =>
  gate.transport.requests.map(({ url }) => new URL(url).pathname.replace("/v1/", ""));

/** Answers as a server with these routes: everything else is `missing`, an empty object a 400. */
const serving = (routes: readonly string[], missing: number = 404): void => {
  gate.transport.behave = ({ url }, index) => {
    const path = new URL(url).pathname.replace("/v1/", "");
    if (!routes.includes(path)) return jsonReply({ error: "404 page not found" }, missing);
    if (gate.transport.bodies[index] === "{}") return jsonReply({ error: "no model" }, 400);
    return jsonReply(path === "chat/completions" ? native.openai.reply : { native: path });
  };
};

describe.each([["messages"], ["responses"]])("%s for a custom provider", (format) => {
  it("become chats for one that says it takes chats alone", async () => {
    serving(["chat/completions"]);
    const response = await send(format, "custom-chat");
    expect(response.status).toBe(200);
    expect(JSON.stringify(await response.json())).toContain("Hello");
    expect(paths()).toEqual(["chat/completions"]);
  });

  it("pass as they are to one that says it takes them", async () => {
    serving([format]);
    expect(await (await send(format, "custom-all")).json()).toEqual({ native: format });
    expect(paths()).toEqual([format]);
  });

  it.each([404, 405, 501])("become chats for one whose probe is a %i, once", async (missing) => {
    serving(["chat/completions"], missing);
    expect((await send(format, "custom-unsaid")).status).toBe(200);
    expect((await send(format, "custom-unsaid")).status).toBe(200);
    expect(paths()).toEqual([format, "chat/completions", "chat/completions"]);
    expect(gate.transport.bodies[0]).toBe("{}");
    expect(sentHeaders(gate.transport.requests[0])["authorization"]).toBe("Bearer sk-own");
    expect(gate.transport.requests[0]?.beginMs).toBe(5000);
    const rows = await gate.logs("open", 2);
    expect(rows).toMatchObject([{ success: true }, { success: true }]);
    expect(rows).toHaveLength(2);
  });

  it("pass as they are to one whose probe finds the route, once", async () => {
    serving([format]);
    expect(await (await send(format, "custom-unsaid")).json()).toEqual({ native: format });
    await send(format, "custom-unsaid");
    expect(paths()).toEqual([format, format, format]);
    expect(gate.transport.bodies.filter((body) => body === "{}")).toHaveLength(1);
  });

  it.each([401, 429, 503])("are probed again after a %i, which says nothing", async (status) => {
    gate.transport.behave = () => jsonReply({ error: "no" }, status);
    expect((await send(format, "custom-unsaid")).status).toBe(status);
    serving(["chat/completions"]);
    expect((await send(format, "custom-unsaid")).status).toBe(200);
  });

  it("are a failure of the provider where it cannot be reached", async () => {
    gate.transport.behave = () => {
      throw new TransportError("unreachable", "no");
    };
    expect((await send(format, "custom-unsaid")).status).toBe(502);
  });
});

describe("`speaks` in the configuration", () => {
  const parse = (slug: string, speaks: unknown): unknown =>
    parseConfig(
      { gateway: { providers: { [slug]: { baseUrl: "https://x.example/v1", speaks } } } },
      () => undefined,
    );
  it("names formats of custom providers", () => {
    expect(() => parse("custom-x", ["chat", "responses"])).not.toThrow();
    expect(() => parse("custom-x", ["gemini"])).toThrow(/speaks/);
    expect(() => parse("openai", ["chat"])).toThrow(/is built in/);
  });
});
