import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { safetyOf } from "../../../../core/gateway/guard/checkers/safety.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

const CARD = "4111 1111 1111 1111";
// Put together here, so that no scanner takes the test itself for a leak.
const SECRET = ["sk", "-proj-", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"].join("");
const DLP = { enabled: true, action: "BLOCK", profiles: ["financial", "pii", "secrets"] };

let gate: GatewayUnderTest;
const seen: string[] = [];
beforeAll(async () => {
  const codename = { type: "codename", count: 1 };
  gate = await gatewayUnderTest({
    checkers: {
      codenames: {
        check: (text) => {
          seen.push(text);
          return text.includes("Aurora")
            ? { action: "flag", findings: [codename] }
            : { action: "allow", findings: [] };
        },
      },
    },
  });
  await gate.create("checked", { authentication: false, dlp: DLP });
  const own = { ...DLP, profiles: ["codenames"] };
  await gate.create("own", { authentication: false, dlp: own });
  await gate.create("flags", { authentication: false, dlp: { ...DLP, action: "FLAG" } });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.behave = () => jsonReply({ choices: [] });
  seen.length = 0;
});

const PATH = "checked/openai/chat/completions";
const send = (content: unknown, path = PATH): Promise<Response> =>
  gate.send(path, jsonInit({ model: "m", messages: [{ role: "user", content }] }));

/** Status and code of an answer, and how often the provider was asked. */
async function verdict(answer: Response): Promise<unknown> {
  const { error } = (await answer.json()) as { error?: { code: number }[] };
  return [answer.status, error?.[0]?.code, gate.transport.requests.length];
}
const BLOCKED = [400, 2029, 0];

describe("data loss prevention reads what a model reads", () => {
  it.each([
    ["line breaks", "4111\n1111\r\n1111\u2028 1111"],
    ["line breaks within words", "pay\n41111111\n11111111\nnow"],
    ["a line break in an address", "ann@exam\nple.org"],
    ["a line break in a key", `the key\n${SECRET.slice(0, 14)}\n${SECRET.slice(14)}`],
    ["a line break in a phone number", "call +49 30\n1234567"],
    ["a line break in an IBAN", "DE89 3704 0044\n0532 0130 00"],
    ["zero-width characters", "4111\u200b1111\u200d1111\u20601111"],
    ["invisible characters in every place", CARD.split("").join("\u{e0001}\ufe0f\u00ad\u180e")],
    ["control characters", "4111\u00011111\u007f1111\u00861111"],
    ["struck digits", CARD.split("").join("\u0336")],
    ["full-width digits", "４１１１ １１１１ １１１１ １１１１"],
    ["a full-width address", "ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ"],
    ["mathematical digits", "𝟺𝟷𝟷𝟷 𝟷𝟷𝟷𝟷 𝟷𝟷𝟷𝟷 𝟷𝟷𝟷𝟷"],
    ["JSON in a string", JSON.stringify({ note: "4111\u200b1111\n11111111" })],
    ["a long run of letters", `${SECRET}${"A".repeat(2000)}`],
  ])("with %s", async (_, content) => {
    expect(await verdict(await send(content))).toEqual(BLOCKED);
  });

  it.each([
    ["the parts of a message", [{ role: "user", content: [part("4111 1111"), part("1111 1111")] }]],
    [
      "parts with other members between",
      [{ role: "user", content: [{ ...part("41111111"), note: "x" }, part("11111111")] }],
    ],
    [
      "messages",
      [
        { role: "user", content: "my card: 4111 1111" },
        { role: "user", content: "1111 1111" },
      ],
    ],
  ])("over %s", async (_, messages) => {
    const answer = await gate.send(PATH, jsonInit({ model: "m", messages }));
    expect(await verdict(answer)).toEqual(BLOCKED);
  });

  it("over the parts of Gemini's messages and lists of inputs", async () => {
    const contents = [{ parts: [{ text: "4111 1111" }, { text: "1111 1111" }] }];
    const gemini = "checked/google-ai-studio/v1beta/models/m:generateContent";
    expect(await verdict(await gate.send(gemini, jsonInit({ contents })))).toEqual(BLOCKED);
    const input = ["4111 1111", "1111 1111"];
    expect(await verdict(await gate.send(PATH, jsonInit({ input })))).toEqual(BLOCKED);
  });

  it.each([
    ["the query", `?note=${encodeURIComponent(CARD)}`, {}],
    ["a parameter's name", `?${encodeURIComponent(CARD)}`, {}],
    ["the path", `/${encodeURIComponent("ann@example.org")}`, {}],
    ["a header", "", { "x-note": `card ${CARD}` }],
  ])("in %s, with a body and without one", async (_, behind, headers) => {
    const init = jsonInit(chat, headers);
    expect(await verdict(await gate.send(PATH + behind, init))).toEqual(BLOCKED);
    const bare = await gate.send(PATH + behind, { method: "GET", headers });
    expect(await verdict(bare)).toEqual(BLOCKED);
    const stream = new Response("RIFF".repeat(100)).body;
    const audio = { ...headers, "content-type": "audio/wav" };
    const streamed = { body: stream, headers: audio, duplex: "half" } as RequestInit;
    expect(await verdict(await gate.send(PATH + behind, streamed))).toEqual(BLOCKED);
  });

  it("but no credential, and no line of a table", async () => {
    const headers = {
      authorization: `Bearer ${SECRET}`,
      "x-api-key": SECRET,
      cookie: `a=${SECRET}`,
      "x-team-token": SECRET,
    };
    const table = Array.from({ length: 200 }, (_, at) => 4000 + ((at * 37) % 999)).join("\n");
    const content = `${table}\nThe cat\nsat on\n2026-11-22\n12.5`;
    const body = { model: "m", messages: [{ role: "user", content }] };
    const answer = await gate.send(`${PATH}?api_key=${SECRET}`, jsonInit(body, headers));
    expect(await verdict(answer)).toEqual([200, undefined, 1]);
  });

  it("in answers and streams too", async () => {
    const say = (content: string) => ({ choices: [{ index: 0, message: { content } }] });
    gate.transport.behave = () => jsonReply(say("４１１１\u200b1111\n1111 1111"));
    expect(await verdict(await send("hi"))).toEqual([400, 2030, 1]);
    const twice = '{"choices":[{"message":{"content":"4111111111111111","content":"hi"}}]}';
    gate.transport.behave = () => ({
      status: 200,
      headers: [["content-type", "application/json"]],
      body: bytes(twice),
    });
    expect(await verdict(await send("hi"))).toEqual([400, 2030, 2]);
    const delta = (content: string): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
    gate.transport.behave = () =>
      streamReply([
        delta("４１１１\n１"),
        delta("111"),
        delta(" 1111\u20601111"),
        "data: [DONE]\n\n",
      ]);
    expect(await verdict(await send("hi"))).toEqual([400, 2030, 3]);
  });

  it("gives an operator's own checkers the text as it is seen", async () => {
    expect(await verdict(await send("Ａｕ\u200brora", "own/openai/chat/completions"))).toEqual(
      BLOCKED,
    );
    expect(seen[0]).toContain("Aurora");
  });
});

function part(text: string): object {
  return { type: "text", text };
}

describe("a body that providers can read in two ways", () => {
  const raw = (body: string, gateway = "checked", type = "application/json"): Promise<Response> =>
    gate.send(`${gateway}/openai/chat/completions`, {
      body,
      headers: { "content-type": type, "content-length": `${body.length}` },
    });

  it.each([
    [
      '{"model":"m","messages":[{"role":"user","content":"hi","content":"x"}]}',
      "messages[0].content",
    ],
    ['{"messages":[],"\\u006dessages":[]}', "messages"],
    ['{"a":{"b":[{"c":1,"c":2}]}}', "a.b[0].c"],
  ])("is refused while a check is on: %s", async (body, path) => {
    for (const gateway of ["checked", "flags"]) {
      for (const type of ["application/json", "text/plain"]) {
        const answer = await raw(body, gateway, type);
        expect([answer.status, await answer.text()]).toEqual([
          400,
          expect.stringContaining(`\\"${path}\\" is there twice`),
        ]);
      }
    }
    expect(gate.transport.requests).toEqual([]);
    expect((await raw(body, "open")).status).toBe(200);
  });

  it("is refused under BLOCK when it is declared as JSON and is none", async () => {
    const answer = await raw('{"messages":[{"content":"x"},]}');
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining("not valid JSON"),
    ]);
    expect((await raw("{,}", "flags")).status).toBe(200);
    expect((await raw('{"a":1}\n{"b":2}\n', "checked", "application/jsonl")).status).toBe(200);
  });
});

describe("a long text", () => {
  const { signal } = new AbortController();
  const check = async (value: unknown): Promise<{ pauses: number; error: unknown }> => {
    let pauses = 0;
    const real = gate.platform.system;
    const system = {
      ...real,
      sleep: (ms: number, until?: AbortSignal) => {
        if (ms > 0) return real.sleep(ms, until);
        pauses += 1;
        return Promise.resolve();
      },
    };
    const dlp = { enabled: true, action: "BLOCK" as const, profiles: ["financial", "secrets"] };
    const safety = safetyOf({ dlp }, {}, { log: () => undefined, decoding: undefined, system });
    const headers = [["content-type", "application/json"]] as const;
    const body = bytes(JSON.stringify(value));
    const error: unknown = await safety?.prompt({ headers, body }, signal).then(
      () => null,
      (one: unknown) => one,
    );
    return { pauses, error };
  };

  it("is checked in slices, so that other requests go on meanwhile", async () => {
    expect(await check({ content: "hello there" })).toEqual({ pauses: 0, error: null });
    const text = "Grüße an alle, 12 Äpfel\n".repeat(100_000);
    const { pauses, error } = await check({ messages: [{ content: text }, { content: text }] });
    expect(error).toBeNull();
    // Taken apart, made visible, and read by three patterns: each in slices of 64 Ki characters at most.
    expect(pauses).toBeGreaterThan((text.length * 2 * 5) / 65_536);
  });

  it("hides nothing on the border of two slices, wherever that is", async () => {
    for (let shift = 0; shift < 24; shift++) {
      const filler = "a ".repeat(20_000).slice(0, 32_768 - 24 + shift);
      for (const found of [` ${CARD} `, ` ${SECRET} `]) {
        const { error } = await check({ content: filler + found + "b ".repeat(40_000) });
        expect([shift, error]).toEqual([shift, expect.objectContaining({ code: 2029 })]);
      }
    }
  });

  it("counts what lies on a border once", async () => {
    const { profiles } = await import("../../../../core/gateway/guard/checkers/policies.ts");
    for (let shift = 0; shift < 620; shift += shift < 550 ? 50 : 1) {
      const filler = "a ".repeat(20_000).slice(0, 32_768 - 600 + shift);
      const text = `${filler} ${CARD} ${"b ".repeat(20_000)}`;
      const found = await profiles["credit_card"]?.check(text, "prompt", signal, () =>
        Promise.resolve(),
      );
      expect([shift, found?.findings]).toEqual([shift, [{ type: "credit_card", count: 1 }]]);
    }
  });
});
