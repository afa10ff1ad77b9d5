import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { inLongBodyLane } from "../../../../core/http/json/long-body-lane.ts";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import { askIn, chatChunk } from "../../../fakes/gateway-formats.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const send = (format: string, more: object): Promise<Response> => askIn(gate, format, more);
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;

it("a long chat is translated word for word, and others go on in between", async () => {
  const sleep = vi.spyOn(gate.platform.system, "sleep");
  const turns = (): number => sleep.mock.calls.filter(([ms]) => ms === 0).length;
  gate.transport.behave = () => jsonReply({ choices: [] });
  const ask = async (content: string): Promise<number> => {
    const before = turns();
    const asked = { model: "perplexity-ai/sonar", messages: [{ role: "user", content }] };
    await (await send("messages", asked)).text();
    expect(JSON.stringify(sentBody()).includes(JSON.stringify(content))).toBe(true);
    return turns() - before;
  };
  const short = await ask("Hi");
  // A pair of surrogates is at each place at which the text may be cut.
  expect(await ask(`"\\${"😀".repeat(700_000)}`)).toBeGreaterThan(short + 8);
  sleep.mockRestore();
});

it("a long chat is read while no other long body is, and a short one at once", async () => {
  gate.transport.behave = () => jsonReply({ choices: [] });
  const ask = (content: string): Promise<Response> =>
    send("chat/completions", {
      model: "perplexity-ai/sonar",
      messages: [{ role: "user", content }],
    });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const { signal } = new AbortController();
  const place = { system: gate.platform.system, owner: "", signal };
  const other = inLongBodyLane(place, () => promise);
  const asked = gate.transport.requests.length;
  const long = ask("x".repeat(2 * 1024 * 1024));
  await (await ask("Hi")).text();
  expect(gate.transport.requests.length - asked).toBe(1);
  resolve(undefined);
  await other;
  await (await long).text();
  expect(gate.transport.requests.length - asked).toBe(2);
});

describe("a translated stream", () => {
  it("breaks beyond 32 MiB, as what it has told is kept for its end", async () => {
    const content = "x".repeat(7 * 1024 * 1024);
    const event = `data: ${JSON.stringify(chatChunk({ content }))}\n\n`;
    const tell = async (count: number) => {
      gate.transport.behave = () =>
        streamReply([...Array.from({ length: count }, () => event), "data: [DONE]\n\n"]);
      const { body } = await send("messages", { model: "openai/gpt-x", stream: true });
      let size = 0;
      for (const reader = body!.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) return size;
        size += value.length;
      }
    };
    expect(await tell(4)).toBeGreaterThan(28 * 1024 * 1024);
    await expect(tell(5)).rejects.toThrow();
  });
});
