import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

const PROFILES = ["financial", "pii", "secrets"];
const MASK = {
  enabled: true,
  policies: [{ id: "hide", enabled: true, action: "MASK", check: ["REQUEST"], profiles: PROFILES }],
};
const PATH = "openai/chat/completions";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
  await gate.create("masks", { dlp: MASK });
  await gate.create("short", { dlp: { enabled: true, action: "MASK", profiles: ["pii"] } });
  await gate.create("caches", { dlp: MASK, cache_ttl: 600 });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  gate.transport.behave = (request) =>
    jsonReply({ choices: [{ message: { content: said(request.body) } }] });
});

/** What the last message of a request says. */
function said(body: unknown): string {
  const { messages } = JSON.parse(new TextDecoder().decode(body as Uint8Array));
  return messages.at(-1).content;
}

const ask = (gateway: string, content: unknown, more: object = {}): Promise<Response> =>
  gate.send(
    `${gateway}/${PATH}`,
    jsonInit({ model: "m", messages: [{ role: "user", content }], ...more }),
  );
const answered = async (answer: Response): Promise<string> => {
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
};

const ASKED = [{ role: "user", content: "Draw ann@example.org" }];
const PARTS = [{ parts: [{ text: "Draw ann@example.org" }] }];

describe("a policy that masks", () => {
  it("sends placeholders, and answers with what they stand for", async () => {
    const text =
      "Write to ann@example.org and bob@example.org, card 4111 1111 1111 1111.\n" +
      "ann@example.org again: +49 30 1234567, 078-05-1120, DE89 3704 0044 0532 0130 00";
    const answer = await ask("masks", text);
    expect(said(gate.transport.requests[0]?.body)).toBe(
      "Write to [EMAIL_1] and [EMAIL_2], card [CREDIT_CARD_1].\n" +
        "[EMAIL_1] again: [PHONE_1], [US_SSN_1], [IBAN_1]",
    );
    const report = JSON.parse(answer.headers.get("cf-aig-dlp") ?? "null");
    expect([report.action, report.findings[0].policy_ids]).toEqual(["MASK", ["hide"]]);
    expect(await answered(answer)).toBe(text);
  });

  it("takes no placeholder that the caller's own text has", async () => {
    const text = "[EMAIL_1] and [EMAIL_3] mean? I am ann@example.org, not bob@example.org";
    expect(await answered(await ask("masks", text))).toBe(text);
    expect(said(gate.transport.requests[0]?.body)).toBe(
      "[EMAIL_1] and [EMAIL_3] mean? I am [EMAIL_2], not [EMAIL_4]",
    );
  });

  it("takes the short form for requests alone", async () => {
    expect(await answered(await ask("short", "to ann@example.org"))).toBe("to ann@example.org");
    expect(said(gate.transport.requests[0]?.body)).toBe("to [EMAIL_1]");
  });

  it("leaves everything else as it is", async () => {
    const body =
      '{ "model":"m","big":12345678901234567890, "messages":[{"role":"user","content":"x \\u0041"}] }';
    await gate.send(`masks/${PATH}`, { ...jsonInit({}), body });
    expect(gate.transport.bodies[0]).toBe(body);
  });

  it("masks all of a key, and what a tool is called with", async () => {
    const key = ["sk", "-proj-", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z-and_more0123456789"].join("");
    const call = {
      function: { name: "f", arguments: '{"key":"' + key + '","to":"ann@example.org"}' },
    };
    const messages = [
      { role: "assistant", tool_calls: [call] },
      { role: "user", content: "go" },
    ];
    await gate.send(`masks/${PATH}`, jsonInit({ model: "m", messages }));
    expect(gate.transport.bodies[0]).toContain(
      '{\\"key\\":\\"[SECRET_1]\\",\\"to\\":\\"[EMAIL_1]\\"}',
    );
    expect(gate.transport.bodies[0]).not.toContain("and_more");
  });

  it.each([
    ["base64", btoa("write to ann@example.org")],
    ["a line break within it", "4111 1111\n1111 1111"],
    ["invisible characters", "ann@exam\u200bple.org"],
    ["a private key", ["-----BEGIN ", "PRIVATE KEY-----\nabc"].join("")],
  ])("holds back what it cannot mask: %s", async (_, content) => {
    const answer = await ask("masks", content);
    const { error } = (await answer.json()) as { error: { code: number; message: string }[] };
    expect([answer.status, error[0]?.code]).toEqual([400, 2029]);
    expect(error[0]?.message).toContain("found where it cannot be masked");
    expect(gate.transport.requests).toHaveLength(0);
  });

  it("masks chats that ask for text alone, and words about pictures", async () => {
    gate.transport.behave = () => jsonReply({});
    const content = "An -image and modalities for ann@example.org";
    for (const [path, body] of [
      [
        "openai/v1/chat/completions",
        { modalities: ["text"], messages: [{ role: "user", content }] },
      ],
      [
        "google-ai-studio/v1beta/models/m:generateContent",
        {
          generationConfig: { responseModalities: ["TEXT"] },
          contents: [{ parts: [{ text: content }] }],
        },
      ],
    ] as const)
      expect((await gate.send(`masks/${path}`, jsonInit({ model: "m", ...body }))).status).toBe(
        200,
      );
    expect(gate.transport.requests).toHaveLength(2);
  });

  it.each([
    ["openai/v1/embeddings", { input: "ann@example.org" }],
    ["compat/embeddings", { model: "openai/m", input: ["x", "ann@example.org"] }],
    ["google-ai-studio/v1beta/models/m:embedContent", { content: "ann@example.org" }],
    ["openai/v1/audio/speech", { input: "ann@example.org" }],
    ["elevenlabs/v1/text-to-speech/voice", { text: "ann@example.org" }],
    ["cartesia/tts/bytes", { transcript: "ann@example.org" }],
    ["deepgram/v1/speak", { text: "ann@example.org" }],
    ["openai/v1/images/generations", { prompt: "ann@example.org" }],
    ["openai/v1/videos", { prompt: "ann@example.org" }],
    ["openai/v1/chat/completions", { modalities: ["text", "audio"], messages: ASKED }],
    ["openai/v1/chat/completions", { model: "gpt-audio", messages: ASKED }],
    ["openai/v1/responses", { tools: [{ type: "image_generation" }], input: "ann@example.org" }],
    [
      "google-ai-studio/v1beta/models/m:generateContent",
      { generationConfig: { responseModalities: ["TEXT", "IMAGE"] }, contents: PARTS },
    ],
    ["google-ai-studio/v1beta/models/g-flash-image:generateContent", { contents: PARTS }],
  ])("holds back what an answer of %s would be made of", async (path, body) => {
    const answer = await gate.send(`masks/${path}`, jsonInit({ model: "m", ...body }));
    const { error } = (await answer.json()) as { error: { code: number; message: string }[] };
    expect([answer.status, error[0]?.code]).toEqual([400, 2029]);
    expect(error[0]?.message).toContain("found where it cannot be masked");
    expect(gate.transport.requests).toHaveLength(0);
    gate.transport.behave = () => jsonReply({});
    const text = JSON.stringify({ model: "m", ...body }).replace("ann@example.org", "nobody");
    const passed = await gate.send(`masks/${path}`, { ...jsonInit({}), body: text });
    expect([passed.status, gate.transport.requests.length]).toEqual([200, 1]);
  });

  it("holds back a finding in another place than the body's texts", async () => {
    const path = `masks/${PATH}?note=${encodeURIComponent("ann@example.org")}`;
    expect((await gate.send(path, jsonInit({ model: "m" }))).status).toBe(400);
    const number = { ...jsonInit({}), body: '{"model":"m","card":4111111111111111}' };
    expect((await gate.send(`masks/${PATH}`, number)).status).toBe(400);
  });

  it("leaves no value in the log", async () => {
    await gate.create("rows", { dlp: MASK });
    await (await ask("rows", "to ann@example.org")).text();
    const [row] = await gate.logs("rows", 1);
    const { body } = await gate.manage(`/gateways/rows/logs/${String(row?.["id"])}`);
    expect(row).toMatchObject({ dlp_action: "MASK", success: true });
    const whole = JSON.stringify(body);
    expect(whole).toContain("[EMAIL_1]");
    expect(whole).not.toContain("ann@example.org");
  });

  it("keeps placeholders in the cache, so that each caller gets its own values", async () => {
    for (const [name, status] of [
      ["ann", "MISS"],
      ["bob", "HIT"],
    ]) {
      const answer = await ask("caches", `to ${name}@example.org`);
      expect(answer.headers.get("cf-aig-cache-status")).toBe(status);
      const report = JSON.parse(answer.headers.get("cf-aig-dlp") ?? "null");
      expect(report).toMatchObject({ action: "MASK", findings: [{ policy_ids: ["hide"] }] });
      expect(await answered(answer)).toBe(`to ${name}@example.org`);
    }
    expect(gate.transport.requests).toHaveLength(1);
    const rows = await gate.logs("caches", 2);
    expect(rows.map(({ cached, dlp_action: action }) => [cached, action])).toEqual([
      [true, "MASK"],
      [false, "MASK"],
    ]);
  });

  it("works with a translated answer", async () => {
    gate.transport.behave = () =>
      jsonReply({
        id: "m1",
        type: "message",
        role: "assistant",
        model: "claude-x",
        content: [{ type: "text", text: "to [EMAIL_1]" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      });
    const chat = {
      model: "anthropic/claude-x",
      messages: [{ role: "user", content: "to ann@example.org" }],
    };
    const answer = await gate.send("masks/compat/chat/completions", jsonInit(chat));
    expect(gate.transport.bodies[0]).toContain("[EMAIL_1]");
    expect(await answered(answer)).toBe("to ann@example.org");
  });
});

describe("a stream of a masked request", () => {
  const delta = (content: string, index = 0): string =>
    `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`;
  const textOf = (events: string, index = 0): string =>
    [...events.matchAll(/^data: (\{.*\})$/gm)]
      .map(([, json]) => JSON.parse(json ?? "").choices[0])
      .filter((choice) => choice.index === index)
      .map((choice) => choice.delta.content)
      .join("");
  const stream = async (events: string, cut = 1_000_000): Promise<string> => {
    const chunks = Array.from({ length: Math.ceil(events.length / cut) }, (_, at) =>
      events.slice(at * cut, (at + 1) * cut),
    );
    gate.transport.behave = () => streamReply(chunks);
    return (await ask("masks", "ann@example.org, bob@example.org", { stream: true })).text();
  };
  const answer = "To [EMAIL_1] and [EMAIL_2], not [EMAIL_3] [EM] [x] [";
  const expected = "To ann@example.org and bob@example.org, not [EMAIL_3] [EM] [x] [";

  it("is put back wherever its deltas and chunks are cut", async () => {
    for (const size of [1, 2, 3, 5, 7, 11, 60]) {
      const deltas = answer.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
      const events = `${deltas.map((one) => delta(one)).join("")}data: [DONE]\n\n`;
      for (const cut of [1_000_000, 13]) {
        const got = await stream(events, cut);
        expect([size, cut, textOf(got)]).toEqual([size, cut, expected]);
        expect(got.endsWith("data: [DONE]\n\n")).toBe(true);
        expect(got.match(/\n\n/g)).toHaveLength(deltas.length + 1);
      }
    }
  });

  it("keeps the texts of several choices apart", async () => {
    const got = await stream(
      delta("a [EM") + delta("b [EMAIL", 1) + delta("AIL_1]") + delta("_2] c", 1) + delta(" d"),
    );
    expect([textOf(got), textOf(got, 1)]).toEqual(["a ann@example.org d", "b bob@example.org c"]);
  });

  it("sends at once what can be no placeholder, byte for byte", async () => {
    const events = `: comment\n\nid: 1\n${delta("no [1] brackets")}event: x\ndata: text\n\n`;
    expect(await stream(events, 7)).toBe(events);
  });

  it("does not end a stream that breaks off, and loses nothing of it", async () => {
    gate.transport.behave = () => streamReply([delta("to [EMAIL_1] and [EM")], { ending: "break" });
    const { body } = await ask("masks", "ann@example.org", { stream: true });
    const reader = body?.getReader();
    let got = "";
    const read = async (): Promise<void> => {
      for (;;) {
        const part = await reader?.read();
        if (part === undefined || part.done) return;
        got += new TextDecoder().decode(part.value);
      }
    };
    await expect(read()).rejects.toBeDefined();
    expect(textOf(got)).toBe("to ann@example.org and [EM");
  });

  it("puts values back in text that is no JSON", async () => {
    gate.transport.behave = () => streamReply(["to [EMA", "IL_1]", " [E"], { type: "text/plain" });
    expect(await (await ask("masks", "ann@example.org")).text()).toBe("to ann@example.org [E");
    gate.transport.behave = () => ({
      status: 200,
      headers: [["content-type", "audio/wav"]],
      body: bytes("[EMAIL_1]"),
    });
    expect(await (await ask("masks", "ann@example.org")).text()).toBe("[EMAIL_1]");
  });

  it.each([
    ["the events of Amazon", "application/vnd.amazon.eventstream"],
    ["MessagePack", "application/msgpack"],
    ["no type", null],
  ])("leaves binary answers as they are: %s", async (_, type) => {
    const frame = new Uint8Array([0, 0, 0, 0x9c, 0xff, 0xfe, ...bytes("[EMAIL_1]"), 0x80, 0xc3]);
    gate.transport.behave = () => ({
      status: 200,
      headers: type === null ? [] : [["content-type", type]],
      body: frame,
    });
    const passed = await ask("masks", "ann@example.org");
    expect(new Uint8Array(await passed.arrayBuffer())).toEqual(frame);
  });
});

describe("the setting", () => {
  it("masks requests alone, and only what is found by patterns", async () => {
    const own = await gatewayUnderTest({
      checkers: { own: { check: () => ({ action: "allow", findings: [] }) } },
    });
    const make = async (dlp: object): Promise<string> => {
      const init = { method: "POST", ...jsonInit({ id: "bad", dlp }) };
      const { status, body } = await own.manage("/gateways", init);
      return `${status} ${body.errors[0]?.message ?? ""}`;
    };
    const [policy] = MASK.policies;
    const both = { ...policy, check: ["REQUEST", "RESPONSE"] };
    expect(await make({ enabled: true, policies: [both] })).toMatch(
      /^400 .*Only requests are masked/,
    );
    expect(await make({ enabled: true, action: "MASK", profiles: ["own"] })).toMatch(
      /^400 .*"own" cannot mask, only secrets, financial/,
    );
    await own.close();
  });
});
