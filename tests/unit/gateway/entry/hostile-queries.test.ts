import { eventually } from "../../../cases/eventually.ts";
import { ApiError } from "../../../../core/http/api-error.ts";
import { tailEvents } from "../../../../core/gateway/observe/log/log-tail.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
  const long = `${"m".repeat(90)}%_\\x`;
  const headers = { "cf-aig-metadata": JSON.stringify({ team: `${"t".repeat(90)}'"` }) };
  await gate.send("open/openai/x", jsonInit({ ...chat, model: long }, headers));
  await gate.send("open/openai/x", jsonInit(chat));
  await gate.logs("open", 2);
});
afterAll(() => gate.close());

const found = async (query: string): Promise<number> => {
  const { status, body } = await gate.manage(`/gateways/open/logs?${query}`);
  expect(status).toBe(200);
  return (body.result as unknown[]).length;
};
const filter = (key: string, operator: string, ...values: string[]): string =>
  new URLSearchParams([
    ["filters.key", key],
    ["filters.operator", operator],
    ...values.map((value) => ["filters.value", value]),
  ]).toString();

describe("the filters of the log", () => {
  it("find long texts, and take no sign for a pattern", async () => {
    expect(await found(`search=${"M".repeat(90)}`)).toBe(1);
    expect(await found(`search=${encodeURIComponent("m%_\\x")}`)).toBe(1);
    expect(await found(`search=${encodeURIComponent("m%x")}`)).toBe(0);
    expect(await found(filter("model", "contains", "m".repeat(90)))).toBe(1);
    expect(await found(filter("model", "contains", "_\\x", "nothing"))).toBe(1);
    expect(await found(filter("metadata.value", "eq", `${"t".repeat(90)}'"`))).toBe(1);
    expect(await found(filter("metadata.value", "contains", `${"t".repeat(60)}'`))).toBe(1);
    expect(await found(filter("model", "contains", "'; DROP TABLE gateway_logs; --"))).toBe(0);
    expect(await found(filter("model", "contains", "\0"))).toBe(0);
    expect(await found(filter("model", "contains", "\ud800"))).toBe(0);
  });

  it("take as many values as one statement can bind, and refuse more", async () => {
    const values = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${i}`);
    expect(await found(filter("model", "contains", ...values(88)))).toBe(0);
    expect(await found(filter("model", "neq", ...values(88)))).toBe(2);
    expect(await found(filter("metadata.value", "eq", ...values(29)))).toBe(0);
    expect(await found(filter("cost", "eq", ...Array.from({ length: 100 }, () => "")))).toBe(2);
    const nulls = filter("response_content_type", "neq", ...Array.from({ length: 100 }, () => ""));
    expect(await found(Array.from({ length: 32 }, () => nulls).join("&"))).toBe(2);
    for (const query of [
      filter("model", "eq", ...values(101)),
      filter("model", "eq", ...values(100)),
      Array.from({ length: 10_000 }, () => "filters.key=model").join("&"),
      Array.from({ length: 10_000 }, () => "cached=true").join("&"),
    ]) {
      const { status } = await gate.manage(`/gateways/open/logs?${query}`);
      expect(status).toBe(400);
    }
  });

  it.each([
    "filters.value=x",
    "filters.operator=eq&filters.key=model",
    filter("__proto__", "eq", "x"),
    filter("constructor", "eq", "x"),
    filter("model", "__proto__", "x"),
    filter("tokens", "eq", "NaN"),
    filter("tokens", "gt", "1e999"),
    filter("created_at", "gt", "9".repeat(400)),
    filter("created_at", "gt", "never"),
    filter("success", "eq", "maybe"),
    "order_by=__proto__",
    "order_by=id;--",
    "order_by_direction=up",
    "page=0",
    "page=-1",
    "page=1e3",
    "page=99999999999",
    "per_page=101",
    "per_page=NaN",
  ])("refuse %s with a 400", async (query) => {
    const { status, body } = await gate.manage(`/gateways/open/logs?${query}`);
    expect([status, body.success]).toEqual([400, false]);
  });

  it("take what is odd but harmless", async () => {
    expect(await found("page=1000000&per_page=100")).toBe(0);
    expect(await found("__proto__=1&constructor=x&hasOwnProperty=1")).toBe(2);
    expect(await found(filter("tokens", "lt", "-1e308"))).toBe(0);
    expect(await found(filter("id", "eq", "\0", "%", "_", "'"))).toBe(0);
  });
});

describe("the lists of the management API", () => {
  it.each([
    "/gateways",
    "/custom-providers",
    "/gateways/open/datasets",
    "/gateways/open/evaluations",
  ])("%s takes long and odd searches", async (path) => {
    for (const search of ["x".repeat(300), "%", "_".repeat(64), "\\", "\0", "'", "__proto__"]) {
      const { status, body } = await gate.manage(`${path}?search=${encodeURIComponent(search)}`);
      expect([status, body.result]).toEqual([200, []]);
    }
  });

  it.each(["%00", "__proto__", "..%2f..", "%25", "'--", "%ff", "x".repeat(2000)])(
    "answers 4xx for the id %s, whatever is asked",
    async (id) => {
      const paths = [
        `/gateways/${id}`,
        `/gateways/open/logs/${id}`,
        `/gateways/open/logs/${id}/request`,
        `/gateways/open/provider_configs/${id}`,
        `/gateways/open/routes/${id}`,
        `/gateways/open/datasets/${id}`,
        `/gateways/open/evaluations/${id}`,
        `/custom-providers/${id}`,
        `/gateways/open/url/${id}`,
      ];
      for (const path of paths) {
        const { status } = await gate.manageRaw(path);
        expect([400, 404], path).toContain(status);
      }
    },
  );
});

describe("what is stored", () => {
  it("is bounded where every listing or request reads it", async () => {
    const [row] = await gate.logs("open", 1);
    const write = async (path: string, method: string, value: object): Promise<number> => {
      const headers = { "content-type": "application/json" };
      const { status } = await gate.manage(path, { method, body: JSON.stringify(value), headers });
      return status;
    };
    const log = `/gateways/open/logs/${String(row?.["id"])}`;
    expect(await write(log, "PATCH", { metadata: { a: "m".repeat(100_000) } })).toBe(400);
    expect(
      await write(log, "PATCH", { metadata: JSON.parse('{"__proto__":"x","a":1}') as object }),
    ).toBe(200);
    expect(
      await write("/gateways/open", "PUT", { ...requiredSettings, store_id: "s".repeat(5000) }),
    ).toBe(400);
    expect(await write("/gateways", "POST", { ...requiredSettings, id: ".." })).toBe(400);
  });
});

describe("the live tail", () => {
  it("refuses followers beyond its limit with a 429, before it begins", async () => {
    const gone = new AbortController();
    const { signal } = gone;
    const tail = (): Promise<Response> => gate.manageRaw("/gateways/open/logs/tail", { signal });
    await Promise.all(
      Array.from({ length: 200 }, async () => (await tail()).body?.getReader().read()),
    );
    // Each of them waits for news as soon as its first event is read.
    await eventually(async () => (await tail()).status === 429, "one more is refused");
    gone.abort();
  });

  it("says why it ends when it has begun", async () => {
    const next = () => Promise.reject(new ApiError("rate_limited", { message: "Too many" }));
    const events = [];
    for await (const event of tailEvents(next, 5, new AbortController().signal)) events.push(event);
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: expect.stringContaining("Too many"),
    });
  });
});
