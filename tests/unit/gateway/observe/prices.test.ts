import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 };
let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    accountId: "acme",
    prices: [{ provider: "openai", model: "gpt-4.1", input: 7, output: 7, source: "file" }],
  });
  gate.transport.behave = () => jsonReply({ choices: [], usage });
});
afterEach(() => gate.close());

const put = (row: object) => gate.manage("/prices", { method: "PUT", ...jsonInit(row) });
const gpt = { provider: "openai", model: "gpt-4o", input: 1, output: 2 };

/** What a request to a gateway costs. */
async function costOf(
  model: string,
  gateway = "open",
  event = crypto.randomUUID(),
): Promise<unknown> {
  const answer = await gate.send(
    `${gateway}/openai/chat/completions`,
    jsonInit({ ...chat, model }, { "cf-aig-event-id": event }),
  );
  expect(answer.status).toBe(200);
  await answer.text();
  const [row] = await gate.rowsOf(gateway, event, 1);
  return row?.["cost"];
}

describe("prices of the management API", () => {
  it("outrank those of the file and the built-in ones, from the next request on, in every gateway", async () => {
    await gate.create("other", { authentication: false });
    expect([await costOf("gpt-4o"), await costOf("gpt-4.1")]).toEqual([2.5, 7]);
    const made = await put({ ...gpt, source: "contract 7" });
    expect([made.status, made.body.result]).toMatchObject([200, { ...gpt, source: "contract 7" }]);
    await put({ ...gpt, model: "gpt-4.1", input: 3 });
    for (const gateway of ["open", "other"])
      expect([
        await costOf("GPT-4o-2024-08-06", gateway),
        await costOf("gpt-4.1", gateway),
      ]).toEqual([1, 3]);
    await put({ ...gpt, input: 9 });
    expect(await costOf("gpt-4o", "other")).toBe(9);
    await gate.create("later", { authentication: false });
    expect(await costOf("gpt-4o", "later")).toBe(9);
  });

  it("are gone when they are deleted", async () => {
    const { body } = await put(gpt);
    const { id } = body.result as { id: string };
    expect(await costOf("gpt-4o")).toBe(1);
    expect((await gate.manage(`/prices/${id}`, { method: "DELETE" })).status).toBe(200);
    expect(await costOf("gpt-4o")).toBe(2.5);
    expect((await gate.manage(`/prices/${id}`, { method: "DELETE" })).status).toBe(404);
  });

  it("hold for other processes over the same data, and after a restart", async () => {
    await put(gpt);
    expect(await costOf("gpt-4o")).toBe(1);
    const { platform } = gate;
    const other = gatewayParts({
      platform,
      auth: "off",
      accountId: "acme",
      gateways: { open: { authentication: false } },
    });
    const url = "http://gateway.test/accounts/acme/ai-gateway/prices?provider=openai&model=gpt-4o";
    const shown = await other.management.fetch(new Request(url));
    expect(await shown.json()).toMatchObject({ result: [{ origin: "api", input: 1 }] });
    await other.gateway.fetch(
      new Request("http://gateway.test/v1/acme/open/openai/chat/completions", {
        method: "POST",
        ...jsonInit({ ...chat, model: "gpt-4o" }, { "cf-aig-event-id": "other" }),
      }),
    );
    expect(await gate.rowsOf("open", "other", 1)).toMatchObject([{ cost: 1 }]);
  });

  it("are counted by spend limits", async () => {
    const rules = [{ limit: 0.5, limitType: "cost", window: 86_400 }];
    await gate.create("own", { authentication: false, spend_limits: { rules } });
    const ask = () => gate.send("own/openai/chat/completions", jsonInit({ ...chat, model: "new" }));
    expect((await ask()).status).toBe(400);
    await put({ ...gpt, model: "new" });
    expect((await ask()).status).toBe(200);
    await gate.logs("own", 1);
    expect((await ask()).status).toBe(429);
  });

  it("are listed with their source, and looked up by any spelling", async () => {
    await put({ ...gpt, from: "2026-01-01" });
    const { body } = await gate.manage("/prices?origin=api");
    expect(body.result).toMatchObject([
      { ...gpt, origin: "api", from: "2026-01-01T00:00:00.000Z", id: expect.any(String) },
    ]);
    const file = await gate.manage("/prices?origin=file");
    expect(file.body.result).toMatchObject([{ model: "gpt-4.1", source: "file" }]);
    const found = await gate.manage("/prices?provider=openai&model=GPT-4.1-2025-04-14");
    expect(found.body.result).toMatchObject([{ model: "gpt-4.1", origin: "file" }]);
    const none = await gate.manage("/prices?provider=openai&model=no-such");
    expect(none.body.result).toEqual([]);
    const all = await gate.manage("/prices?per_page=100&page=2");
    expect(all.body.result_info?.["total_count"]).toBeGreaterThan(150);
    const past = await gate.manage("/prices?per_page=100&page=50");
    expect(past.body.result).toEqual([]);
  });

  it("are checked, and written by who may edit", async () => {
    for (const [row, message] of [
      [{ ...gpt, input: -1 }, "input"],
      [{ ...gpt, inputs: 1 }, "inputs"],
      [{ ...gpt, from: "soon" }, "from"],
      [{ ...gpt, provider: "opnai" }, "opnai"],
      [{ provider: "openai", model: "m" }, "input"],
    ] as const) {
      const { status, body } = await put(row);
      expect([status, body.errors[0]?.message]).toEqual([400, expect.stringContaining(message)]);
    }
    const init = { method: "PUT", ...jsonInit(gpt) };
    const refused = await gate.manage("/prices", {
      ...init,
      headers: { authorization: "Bearer read-only", "content-type": "application/json" },
    });
    expect(refused.status).toBe(403);
    expect(API_TOKEN).not.toBe("read-only");
    expect((await gate.manage("/prices?model=gpt-4o")).status).toBe(400);
  });

  it("stay out of a gateway's settings as clients see them", async () => {
    await put(gpt);
    await costOf("gpt-4o");
    const shown = JSON.stringify((await gate.manage("/gateways/open")).body);
    expect(shown).not.toContain("prices_version");
  });
});
