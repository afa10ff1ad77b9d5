import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
const root = "/gateways/open";

beforeAll(async () => {
  gate = await gatewayUnderTest();
  const cost = (total: number) => ({ "cf-aig-custom-cost": JSON.stringify({ total_cost: total }) });
  await (await gate.send("open/openai/chat/completions", jsonInit(chat, cost(1)))).text();
  await (await gate.send("open/openai/chat/completions", jsonInit(chat, cost(2)))).text();
  gate.transport.behave = () => jsonReply({}, 500);
  await (await gate.send("open/mistral/chat/completions", jsonInit(chat))).text();
  const rows = await gate.logs("open", 3);
  const rated = rows.filter((row) => row["provider"] === "openai");
  for (const [index, row] of rated.entries()) {
    const body = jsonInit({ feedback: index === 0 ? 1 : -1 });
    await gate.manage(`${root}/logs/${String(row["id"])}`, { method: "PATCH", ...body });
  }
});
afterAll(() => gate.close());

type Named = { id: string; name: string };
const post = (what: string, body: object) =>
  gate.manage(`${root}/${what}`, { method: "POST", ...jsonInit(body) });
const dataset = async (name: string, filters: object[], enable: boolean = true) =>
  (await post("datasets", { name, enable, filters })).body.result as Named;

describe("datasets", () => {
  it("are created, replaced, listed and deleted", async () => {
    const filters = [{ key: "provider", operator: "eq", value: ["openai"] }];
    const made = await dataset("d1", filters);
    expect(made).toMatchObject({ name: "d1", enable: true, filters, gateway_id: "open" });
    await dataset("d2", [], false);
    const names = async (query: string) =>
      ((await gate.manage(`${root}/datasets?${query}`)).body.result as Named[]).map(
        ({ name }) => name,
      );
    expect((await names("")).toSorted()).toEqual(["d1", "d2"]);
    expect(await names("enable=false")).toEqual(["d2"]);
    expect(await names("name=d1")).toEqual(["d1"]);
    expect(await names("search=D")).toHaveLength(2);
    expect(await names("search=OpenAI")).toEqual(["d1"]);
    expect(await names("page=3")).toEqual([]);
    const put = { method: "PUT", ...jsonInit({ name: "d3", enable: false, filters: [] }) };
    expect((await gate.manage(`${root}/datasets/${made.id}`, put)).body.result).toMatchObject({
      id: made.id,
      name: "d3",
      filters: [],
    });
    expect((await gate.manage(`${root}/datasets/${made.id}`, { method: "DELETE" })).status).toBe(
      200,
    );
    expect((await gate.manage(`${root}/datasets/${made.id}`)).status).toBe(404);
  });

  it.each([
    [{ name: "", enable: true, filters: [] }, /name/],
    [{ name: "x", enable: true, filters: [{ key: "event_id", operator: "eq", value: [] }] }, /key/],
    [
      { name: "x", enable: true, filters: [{ key: "cost", operator: "neq", value: [1] }] },
      /operator/,
    ],
    [
      { name: "x", enable: true, filters: [{ key: "cost", operator: "eq", value: ["a lot"] }] },
      /cost/,
    ],
    [{ name: "x", filters: [] }, /enable/],
  ])("are refused with %j", async (body, message) => {
    const answer = await post("datasets", body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]?.message).toMatch(message);
  });
});

describe("an evaluation", () => {
  it("scores cost, speed and feedback over the rows of its datasets, each once", async () => {
    const all = await dataset("all", []);
    const some = await dataset("some", [{ key: "provider", operator: "eq", value: ["openai"] }]);
    const made = (
      await post("evaluations", {
        name: "e1",
        dataset_ids: [all.id, some.id],
        evaluation_type_ids: ["cost", "speed", "feedback"],
      })
    ).body.result as Named & { results: Record<string, unknown>[] };
    expect(made).toMatchObject({
      processed: true,
      total_logs: 3,
      datasets: [{ id: all.id, account_id: "acme", account_tag: "acme" }, { id: some.id }],
      results: [
        { evaluation_type_id: "cost", result: "1.5", status: 1, total_logs: 2 },
        { evaluation_type_id: "speed", status: 1, total_logs: 2 },
        { evaluation_type_id: "feedback", result: "50", total_logs: 2 },
      ],
    });
    expect((await gate.manage(`${root}/evaluations/${made.id}`)).body.result).toEqual(made);
    expect((await gate.manage(`${root}/evaluations?processed=true`)).body.result).toHaveLength(1);
    expect((await gate.manage(`${root}/evaluations?processed=false`)).body.result).toEqual([]);
    expect((await gate.manage(`${root}/evaluations/${made.id}`, { method: "DELETE" })).status).toBe(
      200,
    );
    expect((await gate.manage(`${root}/evaluations`)).body.result).toEqual([]);
  });

  it("without a figure says so", async () => {
    const none = await dataset("none", [{ key: "provider", operator: "eq", value: ["nobody"] }]);
    const body = { name: "e2", dataset_ids: [none.id], evaluation_type_ids: ["cost"] };
    expect((await post("evaluations", body)).body.result).toMatchObject({
      total_logs: 0,
      results: [{ result: "", status: 0, total_logs: 0 }],
    });
  });

  it.each([
    [{ dataset_ids: ["nope"], evaluation_type_ids: ["cost"] }, /dataset_ids/],
    [{ dataset_ids: [], evaluation_type_ids: ["cost"] }, /dataset_ids/],
    [{ dataset_ids: ["x"], evaluation_type_ids: ["taste"] }, /evaluation_type_ids/],
  ])("is refused with %j", async (body, message) => {
    const answer = await post("evaluations", { name: "bad", ...body });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]?.message).toMatch(message);
  });

  it("has its types listed in both orders", async () => {
    const listed = async (query: string) =>
      ((await gate.manage(`/evaluation-types?${query}`)).body.result as Named[]).map(
        ({ id }) => id,
      );
    expect(await listed("")).toEqual(["cost", "feedback", "speed"]);
    expect(await listed("order_by_direction=desc")).toEqual(["speed", "feedback", "cost"]);
    expect(await listed("order_by=name")).toEqual(["cost", "feedback", "speed"]);
    expect(await listed("order_by=description")).toEqual(["cost", "speed", "feedback"]);
    expect(await listed("page=2")).toEqual([]);
    for (const query of ["order_by_direction=up", "order_by=nope"])
      expect((await gate.manage(`/evaluation-types?${query}`)).status).toBe(400);
  });
});

describe("the live tail of a log", () => {
  it("streams the rows that fit, from its beginning on", async () => {
    const leaving = new AbortController();
    const tail = await gate.manageRaw(
      `${root}/logs/tail?filters.key=model&filters.operator=eq&filters.value=wanted`,
      { signal: leaving.signal },
    );
    expect(tail.headers.get("content-type")).toContain("text/event-stream");
    const reader = (tail.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let text = decoder.decode((await reader.read()).value);
    expect(text).toMatch(/^event: following\nid: \d+\ndata: \{\}\n\n$/);
    for (const model of ["other", "wanted"]) {
      await (await gate.send("open/openai/chat/completions", jsonInit({ ...chat, model }))).text();
    }
    while (!text.includes('data: {"')) text += decoder.decode((await reader.read()).value);
    const data = /^data: (\{".*)$/m.exec(text)?.[1] ?? "";
    expect(JSON.parse(data)).toMatchObject({ model: "wanted", provider: "openai" });
    leaving.abort();
    // A runtime that does not pass the signal on notices at the end of the wait.
    gate.platform.system.waitUntil(reader.cancel());
  });

  it("is refused for a malformed filter, an unknown gateway or a missing permission", async () => {
    expect((await gate.manage(`${root}/logs/tail?filters.key=nope`)).status).toBe(400);
    expect((await gate.manage("/gateways/none/logs/tail")).status).toBe(404);
    const headers = { authorization: "Bearer nobody" };
    expect((await gate.manage(`${root}/logs/tail`, { headers })).status).toBe(401);
  });
});

describe("billing", () => {
  it.each(["credit-balance", "topup", "spending-limit", "topup/config"])(
    "%s is not part of it",
    async (what) => {
      const answer = await gate.manage(`/billing/${what}`);
      expect(answer.status).toBe(501);
      expect(answer.body.errors[0]?.message).toContain("Billing is not part");
    },
  );
});
