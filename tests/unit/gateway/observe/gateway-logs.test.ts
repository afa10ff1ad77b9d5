import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GatewayName } from "../../../../core/gateway/account/settings/gateway-name.ts";
import { parseLogQuery } from "../../../../core/gateway/observe/log/log-filters.ts";
import { logIds } from "../../../../core/gateway/observe/log/log-row.ts";
import { type LogRow } from "../../../../core/gateway/call/ended-attempt.ts";
import { deleteLogs } from "../../../../core/gateway/manage/manage-logs.ts";
import { initialSettings } from "../../../../core/gateway/account/settings/settings.ts";
import { gatewayStore } from "../../../../core/gateway/account/gateways/store.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  GATEWAY_TOKEN,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;

const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };

beforeAll(async () => {
  gate = await gatewayUnderTest({ logBodyLimit: 1024 });
  gate.transport.behave = (_, index) =>
    index === 0
      ? jsonReply({ id: "x", choices: [], usage })
      : index === 1
        ? jsonReply({ error: "nope" }, 400)
        : streamReply([`data: ${JSON.stringify({ choices: [], usage })}\n\n`, "data: [DONE]\n\n"]);
  const meta = { "cf-aig-metadata": '{"user":"u1","paid":true,"age":7}', "user-agent": "test/1" };
  await gate.send("open/openai/chat/completions?key=secret", jsonInit(chat, meta));
  await gate.send(
    "open/anthropic/v1/messages",
    jsonInit({ model: "claude-x", big: "x".repeat(3000) }),
  );
  const stream = await gate.send(
    "open/google-ai-studio/v1beta/models/gemini-y:streamGenerateContent",
    jsonInit({}),
  );
  await stream.text();
  await gate.logs("open", 3);
});
afterAll(() => gate.close());

const list = async (query: string): Promise<unknown[]> => {
  const { body } = await gate.manage(`/gateways/open/logs?${query}`);
  return (body.result as Record<string, unknown>[]).map((row) => row["model"]);
};

describe("a stored row", () => {
  it("says what was asked and what it used", async () => {
    const rows = await gate.logs("open", 3);
    const openai = rows.find((row) => row["provider"] === "openai");
    // The official client's types know no null cost.
    expect(openai).not.toHaveProperty("cost");
    expect(openai).toMatchObject({
      model: "gpt-test",
      model_type: "text-generation",
      path: "chat/completions?key=REDACTED",
      status_code: 200,
      success: true,
      cached: false,
      tokens_in: 12,
      tokens_out: 3,
      metadata: '{"user":"u1","paid":true,"age":7}',
      user_agent: "test/1",
      authentication: false,
      step: 0,
    });
    expect(rows.find((row) => row["provider"] === "google-ai-studio")).toMatchObject({
      model: "gemini-y",
      tokens_in: 12,
      tokens_out: 3,
      success: true,
    });
  });

  it("keeps both bodies, cut at the limit", async () => {
    const rows = await gate.logs("open", 3);
    const id = rows.find((row) => row["provider"] === "anthropic")?.["id"] as string;
    const { body } = await gate.manage(`/gateways/open/logs/${id}`);
    expect(body.result).toMatchObject({
      request_head_complete: false,
      response_head: '{"error":"nope"}',
      response_head_complete: true,
      response_size: 16,
      success: false,
      status_code: 400,
    });
    const request = await gate.manageRaw(`/gateways/open/logs/${id}/request`);
    expect((await request.text()).length).toBe(1024);
    expect(request.headers.get("x-content-type-options")).toBe("nosniff");
    const response = await gate.manageRaw(`/gateways/open/logs/${id}/response`);
    expect(await response.text()).toBe('{"error":"nope"}');
  });

  it("holds a number of the metadata as it was written", async () => {
    const meta = { "cf-aig-metadata": '{"customer":12345678901234567890,"rate":1.0}' };
    await gate.create("exact", { authentication: false });
    const sent = await gate.send("exact/openai/chat/completions", jsonInit(chat, meta));
    await sent.text();
    const [row] = await gate.logs("exact", 1);
    expect(row).toMatchObject({ metadata: meta["cf-aig-metadata"] });
    const path = `/gateways/exact/logs/${String(row?.["id"])}`;
    const body = '{"metadata":{"customer":12345678901234567890}}';
    const headers = { "content-type": "application/json" };
    const patched = await gate.manage(path, { method: "PATCH", headers, body });
    expect(patched.status).toBe(400);
    expect(JSON.stringify(patched.body)).toContain("expected a number that is not rounded");
  });

  it("says after how many ms the answer began, and has nothing to say of one that never came", async () => {
    const rows = await gate.logs("open", 3);
    for (const row of rows) {
      const [first, whole] = [Number(row["first_byte"]), Number(row["duration"])];
      expect(row["first_byte"]).not.toBeNull();
      expect(first).toBeGreaterThanOrEqual(0);
      expect(first).toBeLessThanOrEqual(whole);
    }
    await gate.create("dead", { authentication: false });
    gate.transport.behave = () => Promise.reject(new TransportError("unreachable", "down"));
    await (await gate.send("dead/openai/chat/completions", jsonInit(chat))).text();
    expect(await gate.logs("dead", 1)).toMatchObject([{ first_byte: null, success: false }]);
  });

  it("takes feedback, score and metadata", async () => {
    const [first] = await gate.logs("open", 3);
    const patch = {
      method: "PATCH",
      ...jsonInit({ feedback: 1, score: 88.5, metadata: { a: "b" } }),
    };
    expect(
      (await gate.manage(`/gateways/open/logs/${first?.["id"] as string}`, patch)).body.result,
    ).toMatchObject({
      feedback: 1,
      score: 88.5,
      metadata: '{"a":"b"}',
    });
    const reset = { method: "PATCH", ...jsonInit({ metadata: null }) };
    const after = await gate.manage(`/gateways/open/logs/${first?.["id"] as string}`, reset);
    expect(after.body.result).toMatchObject({ feedback: 1, score: 88.5 });
    expect(after.body.result).not.toHaveProperty("metadata");
    const wrong = { method: "PATCH", ...jsonInit({ metadata: ["x"] }) };
    expect(
      (await gate.manage(`/gateways/open/logs/${first?.["id"] as string}`, wrong)).status,
    ).toBe(400);
    expect((await gate.manage("/gateways/open/logs/nope", patch)).status).toBe(404);
  });
});

describe("listing", () => {
  it.each([
    ["filters.key=provider&filters.operator=eq&filters.value=openai", ["gpt-test"]],
    ["filters.key=success&filters.operator=eq&filters.value=false", ["claude-x"]],
    [
      "filters.key=model&filters.operator=contains&filters.value=claude&filters.value=gemini",
      ["gemini-y", "claude-x"],
    ],
    [
      "filters.key=tokens&filters.operator=gt&filters.value=14&filters.key=model&filters.operator=neq&filters.value=gpt-test",
      ["gemini-y"],
    ],
    ["filters.key=tokens_in&filters.operator=eq&filters.value=", ["claude-x"]],
    ["filters.key=metadata.key&filters.operator=eq&filters.value=user", ["gpt-test"]],
    ["filters.key=metadata.value&filters.operator=eq&filters.value=7", ["gpt-test"]],
    ["filters.key=metadata.value&filters.operator=eq&filters.value=u", []],
    ["filters.key=metadata.value&filters.operator=contains&filters.value=u", ["gpt-test"]],
    ["filters.key=wholesale&filters.operator=eq&filters.value=true", []],
    [
      "filters.key=compatibilityMode&filters.operator=eq&filters.value=false&order_by=model",
      ["gpt-test", "gemini-y", "claude-x"],
    ],
    ["filters.key=first_byte&filters.operator=eq&filters.value=", []],
    [
      "filters.key=first_byte&filters.operator=gt&filters.value=-1&order_by=model",
      ["gpt-test", "gemini-y", "claude-x"],
    ],
    ["search=gemini", ["gemini-y"]],
    ["search=%25", []],
    ["order_by=model&order_by_direction=asc", ["claude-x", "gemini-y", "gpt-test"]],
    ["per_page=1&page=2&order_by=model&order_by_direction=asc", ["gemini-y"]],
    ["per_page=50&page=9", []],
  ])("?%s", async (query, models) => {
    expect(await list(query)).toEqual(models);
  });

  it("counts what fits", async () => {
    const { body } = await gate.manage("/gateways/open/logs?per_page=2");
    expect(body.result_info).toEqual({ page: 1, per_page: 2, count: 2, total_count: 3 });
  });

  it("needs the Read permission, deleting the Edit permission", async () => {
    const headers = { authorization: "Bearer read-only" };
    expect((await gate.manage("/gateways/open/logs", { headers })).status).toBe(200);
    expect((await gate.manage("/gateways/open/logs", { headers, method: "DELETE" })).status).toBe(
      403,
    );
    expect(
      (await gate.manage("/gateways/open/logs", { headers: { authorization: "x" } })).status,
    ).toBe(401);
  });
});

describe("what is stored", () => {
  it("follows collect-log and collect-log-payload", async () => {
    const fresh = await gatewayUnderTest();
    const without = await fresh.send(
      "open/openai/a",
      jsonInit(chat, { "cf-aig-collect-log": "false" }),
    );
    expect(without.headers.get("cf-aig-log-id")).toBeNull();
    await fresh.send("open/openai/b", jsonInit(chat, { "gw-aig-collect-log-payload": "false" }));
    const rows = await fresh.logs("open", 1);
    expect(rows.map((row) => row["path"])).toEqual(["b"]);
    const id = rows[0]?.["id"] as string;
    expect((await fresh.manageRaw(`/gateways/open/logs/${id}/request`)).status).toBe(404);
    await fresh.close();
  });

  it("holds no secret: token, key, stored key", async () => {
    const fresh = await gatewayUnderTest({ providers: { openai: { apiKey: "sk-stored-secret" } } });
    fresh.transport.behave = () =>
      jsonReply({ ok: 1 }, 200, [["set-cookie", "session=cookie-secret"]]);
    await fresh.send("closed/openai/x?api_key=sk-query-secret", {
      ...jsonInit(chat),
      token: GATEWAY_TOKEN,
    });
    await fresh.send("closed/anthropic/x", {
      ...jsonInit(chat, { "x-api-key": "sk-header-secret" }),
      token: GATEWAY_TOKEN,
    });
    const rows = await fresh.logs("closed", 2);
    const details = await Promise.all(
      rows.map((row) => fresh.manage(`/gateways/closed/logs/${row["id"] as string}`)),
    );
    expect(JSON.stringify(details)).not.toMatch(/secret|gateway-token/);
    await fresh.close();
  });

  it("is bounded by log_management, with both strategies", async () => {
    const fresh = await gatewayUnderTest();
    for (const strategy of ["STOP_INSERTING", "DELETE_OLDEST"]) {
      const id = strategy.toLowerCase();
      await fresh.create(id, { log_management: 3, log_management_strategy: strategy });
      for (let i = 0; i < 5; i++) {
        await fresh.send(`${id}/openai/n${i}`, jsonInit(chat));
        // Each in a batch of its own; those that push nothing in are waited for by one behind them.
        const event = `${id}-${i}`;
        await fresh.send("open/openai/x", jsonInit(chat, { "cf-aig-event-id": event }));
        await fresh.rowsOf("open", event, 1);
      }
      const stops = strategy === "STOP_INSERTING";
      const wanted = stops ? ["n2", "n1", "n0"] : ["n4", "n3", "n2"];
      await expect
        .poll(async () => (await fresh.logs(id, 3)).map((row) => row["path"]))
        .toEqual(wanted);
    }
    await fresh.close();
  });

  it("stays when the limit is lowered under what is there, unless the oldest are to go", async () => {
    const name = { account: "acme", gateway: "lowered" };
    const { store, rows } = await storeOfRows(name, 5);
    const left = async (strategy: "STOP_INSERTING" | "DELETE_OLDEST") => {
      await store.update(name, { log_management: 3, log_management_strategy: strategy });
      await store.append("acme/lowered", rows(1));
      return (await store.at(name).listLogs(parseLogQuery(""), 0, 10)).total;
    };
    expect(await left("STOP_INSERTING")).toBe(5);
    expect(await left("DELETE_OLDEST")).toBe(3);
    // A gateway that is made anew has room again.
    await store.remove(name);
    await store.create("acme", initialSettings("lowered", 1, false));
    await store.append("acme/lowered", rows(1));
    expect(await left("STOP_INSERTING")).toBe(2);
  });

  it("goes without a bound when all is deleted, and with the bound that is asked for", async () => {
    const name = { account: "acme", gateway: "emptied" };
    const { store } = await storeOfRows(name, 10_500);
    expect(await deleteLogs(name, "", "100", store)).toBe(100);
    expect(await deleteLogs(name, "", "10100", store)).toBe(10_100);
    expect(await deleteLogs(name, "", undefined, store)).toBe(300);
    expect(await deleteLogs(name, "", undefined, store)).toBe(0);
  });

  it("is called JSON only where it parses", async () => {
    const fresh = await gatewayUnderTest({ logBodyLimit: 20 });
    const types: (string | null)[] = [];
    for (const text of ['{"a":1}', '{"a":', "", '{"text":"longer than that"}']) {
      fresh.transport.behave = () => ({
        status: 200,
        headers: [["content-type", "application/json"]],
        body: bytes(text),
      });
      const event = `type-${types.length}`;
      await fresh.send("open/openai/x", jsonInit(chat, { "cf-aig-event-id": event }));
      const [row] = await fresh.rowsOf("open", event, 1);
      const kept = await fresh.manageRaw(`/gateways/open/logs/${String(row?.["id"])}/response`);
      types.push(kept.headers.get("content-type"));
    }
    const plain = "text/plain; charset=utf-8";
    expect(types).toEqual(["application/json", plain, plain, plain]);
    await fresh.close();
  });

  it("is decoded text of a gzip answer, usage included", async () => {
    const fresh = await gatewayUnderTest();
    const zipped = new Response(bytes(JSON.stringify({ usage }))).body!.pipeThrough(
      new CompressionStream("gzip"),
    );
    const body = new Uint8Array(await new Response(zipped).arrayBuffer());
    fresh.transport.behave = () => ({
      status: 200,
      headers: [
        ["content-type", "application/json"],
        ["content-encoding", "gzip"],
      ],
      body,
    });
    const response = await fresh.send("open/openai/x", jsonInit(chat));
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(body);
    const [row] = await fresh.logs("open", 1);
    expect(row).toMatchObject({ tokens_in: 12, tokens_out: 3 });
    const stored = await fresh.manageRaw(`/gateways/open/logs/${row?.["id"] as string}/response`);
    expect(await stored.json()).toEqual({ usage });
    await fresh.close();
  });

  it("says how long a request was that streamed through, and that it is not whole", async () => {
    const fresh = await gatewayUnderTest();
    const body = new Uint8Array(2_000_000);
    for (const declared of [{ "content-length": String(body.length) }, { "content-length": "x" }]) {
      const headers = { "content-type": "application/octet-stream", ...declared };
      await fresh.send("open/openai/v1/files", { body, headers });
    }
    const sizes: number[] = [];
    for (const { id } of await fresh.logs("open", 2)) {
      const { body: shown } = await fresh.manage(`/gateways/open/logs/${String(id)}`);
      const row = shown.result as { request_size: number };
      expect(row).toMatchObject({ request_head: "", request_head_complete: false });
      sizes.push(row.request_size);
    }
    expect(sizes.toSorted((a, b) => a - b)).toEqual([0, body.length]);
    await fresh.close();
  });

  it("has the beginning of a text that streamed through", async () => {
    const fresh = await gatewayUnderTest({ logBodyLimit: 1001 });
    const text = "ü".repeat(600_000);
    for (const more of [{}, { "cf-aig-collect-log-payload": "false" }] as const) {
      const headers = { "content-type": "text/plain", "content-length": "1200000", ...more };
      await fresh.send("open/openai/x", { body: text, headers });
      expect(fresh.transport.bodies.at(-1) === text).toBe(true);
    }
    const [without, kept] = await fresh.logs("open", 2);
    const shown = async (row: Record<string, unknown> | undefined) =>
      (await fresh.manage(`/gateways/open/logs/${String(row?.["id"])}`)).body.result;
    const about = { request_size: 1_200_000, request_head_complete: false };
    expect(await shown(kept)).toMatchObject({ ...about, request_head: text.slice(0, 500) });
    expect(await shown(without)).toMatchObject({ ...about, request_head: "" });
    await fresh.close();
  });

  it("goes when the logs or the gateway are deleted", async () => {
    const fresh = await gatewayUnderTest();
    await fresh.send("open/openai/a", jsonInit(chat));
    await fresh.send("open/anthropic/b", jsonInit(chat));
    await fresh.logs("open", 2);
    const query = "filters.key=provider&filters.operator=eq&filters.value=openai";
    const { body } = await fresh.manage(`/gateways/open/logs?${query}`, { method: "DELETE" });
    expect(body.success).toBe(true);
    expect((await fresh.logs("open", 1)).map((row) => row["provider"])).toEqual(["anthropic"]);
    await fresh.close();
  });
});

/** A gateway with so many rows. */
async function storeOfRows(name: GatewayName, count: number) {
  const store = gatewayStore({ platform: gate.platform, gateways: {} });
  await store.create(name.account, initialSettings(name.gateway, 1, false));
  const nextId = logIds(gate.platform.system);
  const body = { text: null, size: 0, complete: true };
  const row = (): LogRow => ({
    id: nextId(),
    createdAt: gate.platform.system.now(),
    provider: "openai",
    model: "m",
    path: "x",
    statusCode: 200,
    success: true,
    cached: false,
    duration: 1,
    tokensIn: null,
    tokensOut: null,
    cost: null,
    customCost: false,
    metadata: null,
    modelType: null,
    requestType: null,
    requestContentType: null,
    responseContentType: null,
    step: 0,
    eventId: null,
    userAgent: null,
    authentication: false,
    caller: null,
    dropped: null,
    firstByte: null,
    note: null,
    dlpAction: null,
    request: body,
    response: body,
  });
  const rows = (number: number): LogRow[] => Array.from({ length: number }, row);
  for (let left = count; left > 0; left -= 1000)
    await store.append(`${name.account}/${name.gateway}`, rows(Math.min(left, 1000)));
  return { store, rows };
}
