import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Duplex, DuplexEnd, WebSockets } from "../../../../core/net/duplex.ts";
import { eventually } from "../../../cases/eventually.ts";
import {
  API_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";

/** An end of a connection that says what it is given, and keeps what it is told. */
function scripted(says: readonly (string | Uint8Array)[] = []): Duplex & {
  readonly heard: (string | Uint8Array)[];
  end: DuplexEnd | null;
} {
  const over = Promise.withResolvers<DuplexEnd>();
  const left = [...says];
  const heard: (string | Uint8Array)[] = [];
  const duplex = {
    protocol: "",
    heard,
    end: null as DuplexEnd | null,
    send: (message: string | Uint8Array) => {
      heard.push(message);
      return Promise.resolve(true);
    },
    receive: () =>
      left.length > 0 ? Promise.resolve(left.shift() ?? null) : over.promise.then(() => null),
    close(code = 1000, reason = "") {
      duplex.end ??= { code, reason };
      over.resolve({ code, reason });
    },
    closed: over.promise,
  };
  return duplex;
}

let gate: GatewayUnderTest;
let client: ReturnType<typeof scripted>;
let provider: ReturnType<typeof scripted>;
let dialled: Parameters<WebSockets["dial"]>[0][];

beforeEach(async () => {
  dialled = [];
  provider = scripted();
  const webSockets: WebSockets = {
    dial(request) {
      dialled.push(request);
      return Promise.resolve({ duplex: provider });
    },
    // No runtime but workerd makes a response of status 101.
    accept: () => ({ duplex: client, response: new Response("connected") }),
  };
  gate = await gatewayUnderTest({}, { webSockets });
  for (const slug of ["openai", "google-ai-studio", "elevenlabs"]) {
    const key = { alias: "default", default_config: true, provider_slug: slug };
    const body = { ...key, secret: `sk-stored-${slug}` };
    await gate.manage("/gateways/closed/provider_configs", { method: "POST", ...jsonInit(body) });
  }
});
afterEach(() => gate.close());

async function made(settings: object = {}): Promise<string> {
  const init = { method: "POST", ...jsonInit({ name: "team", ...settings }) };
  return ((await gate.manage("/virtual-keys", init)).body.result as { key: string }).key;
}

async function open(token: string, path: string, protocols = ""): Promise<number> {
  const offered: Record<string, string> =
    protocols === "" ? {} : { "sec-websocket-protocol": protocols };
  const headers = { upgrade: "websocket", ...offered };
  return (await gate.send(`closed/${path}`, { method: "GET", token, headers })).status;
}

const REALTIME = "openai/v1/realtime?model=gpt-realtime";

describe("a WebSocket of a virtual key with the operator's credential", () => {
  it("is opened where it is an inference, and chooses no organisation or project", async () => {
    const key = await made();
    client = scripted();
    const protocols = "realtime, openai-organization.org-other, openai-project.proj-other";
    expect(await open(key, REALTIME, protocols)).toBe(200);
    expect(dialled.at(-1)?.protocols).toEqual(["realtime"]);
    for (const path of [
      "openai/v1/realtime?call_id=rtc_1",
      "openai/v1/responses",
      "openai/v1/files",
      "elevenlabs/v1/convai/conversation?agent_id=a",
      "elevenlabs",
    ])
      expect([path, await open(key, path)]).toEqual([path, 403]);
    expect(dialled).toHaveLength(1);
    const opened = await made({
      paths: ["GET elevenlabs/v1/convai/conversation", "GET elevenlabs/agents/a"],
    });
    expect(await open(opened, "elevenlabs/v1/convai/conversation?agent_id=a")).toBe(200);
    expect(await open(opened, "elevenlabs/v1/convai/conversation?agent_id=b")).toBe(403);
    // A credential of the caller's own is that caller's account.
    await open(key, REALTIME, `${protocols}, openai-insecure-api-key.sk-own`);
    expect(dialled.at(-1)?.protocols).toHaveLength(3);
    await open(API_TOKEN, REALTIME, protocols);
    expect(dialled.at(-1)?.protocols).toHaveLength(3);
  });

  const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
  it.each<[string, string, string | Uint8Array]>([
    ["a stored prompt", REALTIME, '{"type":"session.update","session":{"prompt":{"id":"pmpt_1"}}}'],
    ["one for an answer", REALTIME, '{"type":"response.create","response":{"prompt":{"id":"p"}}}'],
    ["a file", REALTIME, '{"type":"x","item":{"content":[{"type":"input_image","file_id":"f"}]}}'],
    ["one in bytes", REALTIME, utf8('{"session":{"prompt":{"id":"pmpt_1"}}}')],
    ["a member twice", REALTIME, '{"session":{"prompt":{"id":"p"}},"session":{}}'],
    [
      "the session of another",
      "google-ai-studio",
      '{"setup":{"sessionResumption":{"handle":"h"}}}',
    ],
    ["a cached content", "google-ai-studio", '{"setup":{"cachedContent":"cachedContents/a"}}'],
    [
      "a file of Google's",
      "google-ai-studio",
      '{"client_content":{"turns":[{"parts":[{"file_data":{"file_uri":"files/a"}}]}]}}',
    ],
  ])("is closed with 1008 when a message names %s", async (_, path, message) => {
    client = scripted([
      '{"type":"session.update","session":{"instructions":"hi"}}',
      message,
      "later",
    ]);
    expect(await open(await made(), path)).toBe(200);
    await eventually(() => client.end !== null, "the client's connection is closed");
    expect(client.end).toMatchObject({ code: 1008 });
    expect(client.end?.reason).not.toBe("");
    expect(provider.heard).toHaveLength(1);
  });

  it("passes what an API token names, and what only looks like a reference", async () => {
    const stored = '{"session":{"prompt":{"id":"pmpt_1"}}}';
    const plain =
      '{"type":"conversation.item.create","item":{"content":[{"type":"input_text","text":"\\"prompt\\": {\\"id\\": 1}"}]}}';
    for (const [token, message] of [
      [API_TOKEN, stored],
      [await made(), plain],
      [await made({ paths: ["GET openai/prompts/pmpt_1"] }), stored],
    ] as const) {
      provider = scripted();
      client = scripted([message, "sound"]);
      expect(await open(token, REALTIME)).toBe(200);
      await eventually(() => provider.heard.length === 2, "both messages have passed");
      client.close();
    }
  });
});
