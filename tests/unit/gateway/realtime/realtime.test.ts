import { describe, expect, it } from "vitest";
import { checkHandshake } from "../../../../core/gateway/wire/websocket.ts";
import { readOffer } from "../../../../core/gateway/realtime/offer.ts";
import { realtimePath, realtimeTargets } from "../../../../core/gateway/realtime/realtime-path.ts";
import { tally } from "../../../../core/gateway/realtime/tally.ts";
import { ApiError } from "../../../../core/http/api-error.ts";
import type { HeaderPair } from "../../../../core/ports.ts";

const offering = (list: string): readonly (readonly [string, string])[] => [
  ["sec-websocket-key", "x"],
  ["sec-websocket-protocol", list],
];

describe("checkHandshake()", () => {
  const key = ["sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="] as const;
  const version = ["sec-websocket-version", "13"] as const;

  it("lets a proper handshake pass, and a call within a process", () => {
    expect(() => checkHandshake([key, version])).not.toThrow();
    expect(() => checkHandshake([["upgrade", "websocket"]])).not.toThrow();
  });

  it("refuses another version with 426, and a missing or malformed key with 400", () => {
    const statusOf = (...headers: HeaderPair[]): unknown => {
      try {
        checkHandshake(headers);
        return null;
      } catch (error) {
        return error instanceof ApiError ? error.status : error;
      }
    };
    expect(statusOf(key, ["sec-websocket-version", "8"])).toBe(426);
    expect(statusOf(key)).toBe(426);
    expect(statusOf(version)).toBe(400);
    expect(statusOf(["sec-websocket-key", "abc"], version)).toBe(400);
  });
});

describe("the subprotocols of a realtime connection", () => {
  it("move credentials into headers, and no handshake header crosses", () => {
    const list = "realtime,openai-insecure-api-key.sk,cf-aig-authorization.tok,xi-api-key.other";
    const offer = readOffer(offering(list), "openai");
    expect(offer.headers).toEqual([
      ["authorization", "Bearer sk"],
      ["cf-aig-authorization", "tok"],
    ]);
    expect(offer.protocols).toEqual(["realtime"]);
  });

  it("do not replace a header that is there", () => {
    const given = [["authorization", "Bearer header"] as const];
    const offer = readOffer([...given, ...offering("openai-insecure-api-key.sk")], "openai");
    expect(offer.headers).toEqual(given);
  });

  it("are confirmed as the provider selected, else by a name before a credential", () => {
    const offer = readOffer(offering("cf-aig-authorization.tok, a, b"), "openai");
    expect([offer.select("b"), offer.select(""), offer.select("not offered")]).toEqual([
      "b",
      "a",
      "a",
    ]);
    expect(readOffer(offering("cf-aig-authorization.tok"), "openai").select("")).toBe(
      "cf-aig-authorization.tok",
    );
    expect(readOffer([], "openai").select("")).toBeNull();
  });

  it("are refused when they are no list of tokens", () => {
    for (const list of ["a b", "a, \u0001", `x${"y".repeat(20_000)}`])
      expect(() => readOffer(offering(list), "openai")).toThrow(/sec-websocket-protocol/);
  });
});

describe("realtimePath()", () => {
  it("takes the provider's own path when the client names none", () => {
    expect(realtimePath("openai", "", "?model=m")).toEqual({
      slug: "openai",
      rest: "v1/realtime",
      query: "?model=m",
    });
    expect(realtimePath("google", "", "?a=1&api_key=k").query).toBe("?a=1&key=k");
    expect(realtimePath("mistral", "v1/x", "")).toEqual({
      slug: "mistral",
      rest: "v1/x",
      query: "",
    });
    expect(() => realtimePath("constructor", "", "")).toThrow(/needs a path/);
  });

  it("moves a model from the query into the path, and nothing that is no model", () => {
    expect(realtimePath("workers-ai", "", "?model=%40cf%2Fa%2Fb&x=1")).toEqual({
      slug: "workers-ai",
      rest: "run/@cf/a/b",
      query: "?x=1",
    });
    for (const query of ["", "?model=", "?model=a?b", "?model=a%0d%0ab"])
      expect(() => realtimePath("workers-ai", "", query)).toThrow(/Name the model/);
  });

  it("finds another host where a provider has one, unless the configuration names its own", () => {
    const options = { providers: {}, demo: true };
    expect(realtimeTargets(options, "fal", "a/b").providers["fal"]?.baseUrl).toBe(
      "https://ws.fal.run",
    );
    expect(realtimeTargets(options, "fal", "a/b/realtime")).toBe(options);
    const own = { providers: { fal: { baseUrl: "https://own.test" } }, demo: true };
    expect(realtimeTargets(own, "fal", "a/b").providers["fal"]?.baseUrl).toBe("https://own.test");
    const agent = realtimeTargets(options, "deepgram", "v1/agent/converse");
    expect(agent.providers["deepgram"]?.baseUrl).toBe("https://agent.deepgram.com");
    expect(realtimeTargets(options, "deepgram", "v1/listen")).toBe(options);
    const keyed = { providers: { deepgram: { baseUrl: undefined, apiKey: "k" } }, demo: true };
    expect(realtimeTargets(keyed, "deepgram", "v1/agent/converse").providers["deepgram"]).toEqual({
      baseUrl: "https://agent.deepgram.com",
      apiKey: "k",
    });
  });
});

describe("the tally of a connection", () => {
  const end = { by: "client", code: 1000, reason: "" } as const;

  it("counts frames and bytes in UTF-8 and keeps no message unless asked", () => {
    const counted = tally({ model: "m", summary: true, keep: 0 });
    counted.add("client", "Grüße 🐘");
    counted.add("client", new Uint8Array(3));
    const { about } = counted.finish(end);
    expect(about.request.size).toBe(new TextEncoder().encode("Grüße 🐘").length + 3);
    expect(about.request.text).not.toContain("Grüße");
  });

  it.each(["models/gemini-x", "projects/p/locations/l/publishers/google/models/gemini-x"])(
    "names the model of a setup for %s",
    (model) => {
      const counted = tally({ model: "", summary: true, keep: 0 });
      counted.add("client", JSON.stringify({ setup: { model } }));
      expect(counted.finish(end).about.model).toBe("gemini-x");
    },
  );

  it("keeps at most so many characters, however short the messages are", () => {
    const counted = tally({ model: "m", summary: true, keep: 100 });
    for (let i = 0; i < 1000; i++) counted.add("provider", "");
    const { seen } = counted.finish(end);
    expect(seen.body.complete).toBe(false);
    expect(seen.body.text?.length).toBeLessThan(250);
  });

  it("adds up responses that are reported one by one, and takes the last of totals", () => {
    const counted = tally({ model: "", summary: true, keep: 0 });
    const done = JSON.stringify({
      type: "response.done",
      response: { usage: { input_tokens: 2, output_tokens: 3 } },
    });
    counted.add("provider", done);
    counted.add("provider", done);
    expect(counted.finish(end).seen.usage).toMatchObject({ tokensIn: 4, tokensOut: 6 });
    const totals = tally({ model: "", summary: true, keep: 0 });
    for (const n of [5, 9])
      totals.add(
        "provider",
        JSON.stringify({ usageMetadata: { promptTokenCount: n, candidatesTokenCount: n } }),
      );
    expect(totals.finish(end).seen.usage).toMatchObject({ tokensIn: 9, tokensOut: 9 });
  });
});
