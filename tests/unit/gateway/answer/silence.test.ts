import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keptAlive } from "../../../../core/gateway/entry/silence.ts";
import { gatewayEngine } from "../../../../core/gateway/engine.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { streamReply } from "../../../fakes/gateway-transport.ts";
import { fakeClock, settled } from "../../../fakes/rendering-system.ts";
import { resumableStreams } from "../../../../core/gateway/resume/mod.ts";

describe("keptAlive()", () => {
  /** What a client reads of a stream that is kept alive every 15 s. */
  function reading() {
    const clock = fakeClock();
    const source = fedStream();
    const reader = keptAlive(source.body, 15_000, clock.system).getReader();
    const chunks: string[] = [];
    const ended = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        chunks.push(new TextDecoder().decode(value));
      }
    })();
    ended.catch(() => undefined);
    return { clock, source, chunks, ended, reader };
  }

  it("sends a comment for each time of silence between events, before the first one too", async () => {
    const { clock, source, chunks } = reading();
    await settled();
    await clock.advance(14_999);
    expect(chunks).toEqual([]);
    await clock.advance(1);
    expect(chunks).toEqual([":\n\n"]);
    source.send("data: 1\n\n");
    await settled();
    await clock.advance(15_000);
    await clock.advance(15_000);
    source.send("data: 2\n\n");
    await settled();
    expect(chunks).toEqual([":\n\n", "data: 1\n\n", ":\n\n", ":\n\n", "data: 2\n\n"]);
  });

  it("sends none inside an event, wherever it is cut", async () => {
    for (const event of ["data: 1\n\n", "data: 1\r\n\r\n", "data: 1\r\r"]) {
      for (let cut = 1; cut < event.length; cut++) {
        const { clock, source, chunks } = reading();
        source.send(event.slice(0, cut));
        await settled();
        await clock.advance(15_000);
        expect(chunks).toEqual([event.slice(0, cut)]);
        source.send(event.slice(cut));
        await settled();
        await clock.advance(15_000);
        expect(chunks).toEqual([event.slice(0, cut), event.slice(cut), ":\n\n"]);
      }
    }
  });

  it("sends none to a client that does not read, and asks its provider for nothing more", async () => {
    const clock = fakeClock();
    const source = fedStream();
    const reader = keptAlive(source.body, 15_000, clock.system).getReader();
    await clock.advance(60_000);
    expect(source.pulls).toBe(0);
    const read = reader.read();
    await clock.advance(15_000);
    expect(new TextDecoder().decode((await read).value)).toBe(":\n\n");
    await clock.advance(60_000);
    expect(source.pulls).toBe(1);
  });

  it("ends, breaks off and is cancelled as the stream itself", async () => {
    const whole = reading();
    whole.source.close();
    await whole.ended;
    const broken = reading();
    broken.source.fail();
    await expect(broken.ended).rejects.toMatchObject({ reason: "broken" });
    const left = reading();
    await left.reader.cancel();
    await left.source.ended;
  });
});

describe("gateway({ sseKeepAliveSeconds })", () => {
  let gate: GatewayUnderTest;
  beforeAll(async () => {
    gate = await gatewayUnderTest({ sseKeepAliveSeconds: 0.01, resume: resumableStreams() });
  });
  afterAll(() => gate.close());

  it("keeps comments out of the cache and of the log, and numbers them as events of a run", async () => {
    const source = fedStream();
    gate.transport.behave = (request) => source.answer(request);
    const init = jsonInit(chat, { "cf-aig-cache-ttl": "60", "cf-aig-event-id": "alive" });
    const pending = gate.send("open/openai/chat/completions", init);
    source.send("data: 1\n\n");
    const response = await pending;
    const runId = response.headers.get("cf-aig-run-id");
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = "";
    while (!text.includes(":\n\n:\n\n")) text += decoder.decode((await reader?.read())?.value);
    source.send("data: 2\n\n");
    source.close();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      text += decoder.decode(read.value);
    }
    expect(text).toMatch(/^data: 1\n\n(?::\n\n){2,}data: 2\n\n(?::\n\n)*$/);
    const again = await gate.manageRaw(`/gateways/open/run/${runId}/resume?from=2`);
    expect(await again.text()).toBe(text.slice("data: 1\n\n:\n\n".length));
    const hit = await gate.send("open/openai/chat/completions", init);
    expect(hit.headers.get("cf-aig-cache-status")).toBe("HIT");
    expect((await hit.text()).replaceAll(":\n\n", "")).toBe("data: 1\n\ndata: 2\n\n");
    const [row] = await gate.rowsOf("open", "alive", 2);
    const kept = await gate.manageRaw(`/gateways/open/logs/${String(row?.["id"])}/response`);
    expect(await kept.text()).toBe("data: 1\n\ndata: 2\n\n");
  });

  it("answers without an id rather than hold back the head of a silent stream", async () => {
    const source = fedStream();
    gate.transport.behave = (request) => source.answer(request);
    const response = await gate.send("open/openai/chat/completions", jsonInit(chat));
    expect(response.headers.has("cf-aig-run-id")).toBe(false);
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(":\n\n");
    await reader?.cancel();
    await source.ended;
  });

  it("leaves other answers as they are", async () => {
    gate.transport.behave = () => streamReply(["slow", "text"], { type: "text/plain" });
    const response = await gate.send("open/openai/files", jsonInit({}));
    expect(await response.text()).toBe("slowtext");
  });

  it("takes a number above 0", () => {
    for (const sseKeepAliveSeconds of [0, -1, Number.NaN]) {
      const options = { platform: gate.platform, sseKeepAliveSeconds };
      expect(() => gatewayEngine(options)).toThrow("sseKeepAliveSeconds");
    }
  });
});
