import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Hono } from "hono";
import type { GatewayOptions } from "../../../../core/gateway/entry/options.ts";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { semanticCache } from "../../../../core/gateway/semantic-cache/mod.ts";

let gate: GatewayUnderTest;
let serial = 0;
let asked: string[];
/** The process that asks first. */
let first: Hono;
const works: Promise<unknown>[] = [];

beforeAll(async () => {
  gate = await gatewayUnderTest();
  first = another({
    platform: {
      ...gate.platform,
      system: { ...gate.platform.system, waitUntil: (work) => void works.push(work) },
    },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.behave = (_, index) => jsonReply({ answer: index });
  asked = [];
});

/** The same database behind an empty memory: another process, or this one after a restart. */
const another = (more: Partial<GatewayOptions> = {}): Hono =>
  gatewayParts({
    platform: gate.platform,
    auth: "off",
    gateways: { open: { authentication: false } },
    ...more,
  }).gateway;
const fresh = () => ({ ...chat, user: `stored-${serial++}` });
const TTL = { "cf-aig-cache-ttl": "60" };
const request = (body: unknown, headers: Record<string, string> = TTL, gateway = "open") =>
  new Request(`http://gateway.test/v1/acme/${gateway}/openai/x`, {
    method: "POST",
    ...jsonInit(body, headers),
  });
const ask = async (at: Hono, ...given: Parameters<typeof request>) => {
  const response = await at.fetch(request(...given));
  return [response.headers.get("cf-aig-cache-status"), await response.text()];
};
/** {@link ask}, until all is stored that is stored behind the answer. */
const bring = async (body: unknown, headers = TTL) => {
  const found = await ask(first, body, headers);
  await Promise.all(works.splice(0));
  return found;
};

describe("the stored cache", () => {
  it("answers at another process, and after a restart, what one process has brought", async () => {
    const body = fresh();
    const brought = await bring(body);
    expect(brought[0]).toBe("MISS");
    const other = another();
    expect(await ask(other, body)).toEqual(["HIT", brought[1]]);
    // From memory now.
    expect(await ask(other, body)).toEqual(["HIT", brought[1]]);
    expect(gate.transport.requests.length).toBe(1);
  });

  it("replays a stream as a stream, with its headers", async () => {
    const chunks = ["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"];
    gate.transport.behave = () => streamReply(chunks);
    const body = { ...fresh(), stream: true };
    await bring(body);
    const response = await another().fetch(request(body));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(chunks.join(""));
    await reader.cancel();
    expect(gate.transport.requests.length).toBe(1);
  });

  it("is for those only who ask the same with the same credentials", async () => {
    const body = fresh();
    const key = { ...TTL, authorization: "Bearer sk-one" };
    await bring(body, key);
    const statuses = await Promise.all(
      [{ ...key, authorization: "Bearer sk-two" }, TTL, key].map((headers) =>
        ask(another(), body, headers),
      ),
    );
    expect(statuses.map(([status]) => status)).toEqual(["MISS", "MISS", "HIT"]);
  });

  it("keeps no failure and no stream that broke off", async () => {
    const [failed, broken] = [fresh(), fresh()];
    gate.transport.behave = () => jsonReply({ no: 1 }, 500);
    await bring(failed);
    gate.transport.behave = () => streamReply(["data: 1\n\n"], { ending: "break" });
    await expect(bring(broken)).rejects.toThrow();
    await Promise.all(works.splice(0));
    gate.transport.behave = () => jsonReply({});
    expect((await ask(another(), failed))[0]).toBe("MISS");
    expect((await ask(another(), broken))[0]).toBe("MISS");
  });

  it("can be left out", async () => {
    const body = fresh();
    await bring(body);
    expect((await ask(another(), body))[0]).toBe("HIT");
    expect((await ask(another({ storedCacheBytes: 0 }), body))[0]).toBe("MISS");
  });

  it("is found before the embedder is asked for questions in other words", async () => {
    const embed = async (texts: readonly string[]) => {
      asked.push(...texts);
      return texts.map(() => new Float32Array([1, 0]));
    };
    const body = { ...fresh(), messages: [{ role: "user", content: "How tall is the tower?" }] };
    await bring(body);
    expect((await ask(another({ semanticCache: semanticCache({ embed }) }), body))[0]).toBe("HIT");
    expect(asked).toEqual([]);
  });

  it("asks the provider once for identical requests at the same time", async () => {
    gate.transport.behave = async (_, index) => {
      await gate.platform.system.sleep(20);
      return jsonReply({ answer: index });
    };
    const body = fresh();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(first, body)));
    expect(new Set(answers.map(([, text]) => text)).size).toBe(1);
    expect(gate.transport.requests.length).toBe(1);
  });
});
