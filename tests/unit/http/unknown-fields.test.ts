import { Hono } from "hono";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { authorize } from "../../../core/auth/authorize.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { readJson } from "../../../core/http/fields/body.ts";
import { envelope } from "../../../core/http/envelope.ts";
import { misspelling, nearest } from "../../../core/text/nearest.ts";
import { checkQuery, checkWholeQuery, readQuery } from "../../../core/http/fields/query.ts";
import { closeRoutes } from "../../../core/http/routes.ts";
import { holds, ignores } from "../../../core/http/fields/schema-fields.ts";
import { addsUnknownFields, checkFields } from "../../../core/http/fields/unknown-fields.ts";

const refusal = (schema: v.GenericSchema, value: unknown): string => {
  try {
    checkFields(schema, value);
  } catch (error) {
    if (error instanceof ApiError) return error.message;
  }
  return "passed";
};

describe("misspelling()", () => {
  const known = ["authentication", "cache_ttl", "gotoOptions", "url", "id", "model"];
  it.each([
    ["authentcation", "authentication"],
    ["authenticaiton", "authentication"],
    ["Authentication", "authentication"],
    ["cacheTtl", "cache_ttl"],
    ["cache-ttl", "cache_ttl"],
    ["cachettl", "cache_ttl"],
    ["gotoOption", "gotoOptions"],
    ["ulr", "url"],
    ["ID", "id"],
    ["modle", "model"],
  ])("%s is meant to be %s", (word, meant) => {
    expect(misspelling(word, known)).toBe(meant);
  });

  it.each(["ip", "uri_path", "mode_of_cache", "title", "node", "authority"])(
    "%s is a word of its own",
    (word) => expect(misspelling(word, known)).toBeUndefined(),
  );

  it("does not compare what is far too long", () => {
    expect(misspelling("authentication".repeat(10_000), known)).toBeUndefined();
  });

  it("is stricter than what is offered", () => {
    expect(nearest("urk", ["id", "url"])).toBe("url");
    expect(nearest("ud", ["id"])).toBe("id");
    expect(misspelling("ud", ["id"])).toBeUndefined();
  });
});

describe("checkFields()", () => {
  const rule = v.variant("mode", [
    v.object({ mode: v.literal("filter"), values: v.array(v.string()) }),
    v.object({ mode: v.literal("split"), percent: v.number() }),
  ]);
  const schema = v.pipe(
    v.object({
      authentication: v.optional(v.boolean()),
      rules: v.optional(v.pipe(v.array(rule), v.maxLength(3))),
      metadata: v.nullish(v.record(v.string(), v.string())),
      outputs: v.optional(v.record(v.string(), v.object({ elementId: v.string() }))),
      message: v.optional(v.looseObject({ content: v.object({ text: v.string() }) })),
      elements: v.optional(
        v.pipe(
          v.custom<unknown>(() => true),
          holds(v.array(rule)),
        ),
      ),
      either: v.optional(
        v.union([v.object({ left: v.number() }), v.object({ right: v.number() })]),
      ),
      anything: v.optional(v.unknown()),
    }),
    ignores("created_at"),
    v.transform((body) => ({ ...body, changed: true })),
    v.object({ changed: v.boolean() }),
  );

  it.each([
    [{ authentcation: false }, "authentcation", "authentication"],
    [{ rules: [{ mode: "filter", vaules: [] }] }, "rules.0.vaules", "rules.0.values"],
    [{ rules: [{ mode: "split", percnt: 1 }] }, "rules.0.percnt", "rules.0.percent"],
    [{ outputs: { free: { elementID: "x" } } }, "outputs.free.elementID", "outputs.free.elementId"],
    [{ message: { content: { txet: "x" } } }, "message.content.txet", "message.content.text"],
    [{ elements: [{ mode: "split", percnt: 1 }] }, "elements.0.percnt", "elements.0.percent"],
    [{ either: { rigth: 1 } }, "either.rigth", "either.right"],
    [{ createdAt: 1 }, "createdAt", "created_at"],
  ])("refuses %j", (body, path, meant) => {
    expect(refusal(schema, body)).toBe(`Unknown field "${path}": did you mean "${meant}"?`);
  });

  it.each([
    { authentication: true, rules: [{ mode: "filter", values: ["a"] }], created_at: "2026" },
    { metadata: { authentcation: "a free map has no misspelt keys" } },
    { message: { content: { text: "x" }, contnet: "goes on to somebody else" } },
    { anything: { authentcation: 1 } },
    { rules: "not a list" },
    [],
    "text",
    null,
  ])("passes %j without a word", (body) => {
    expect(checkFields(schema, body)).toEqual([]);
  });

  it("looks into at most 1,000 objects, and at no text of a long list or free map", () => {
    let looked = 0;
    const counts = () => ({
      get mode() {
        looked++;
        return "split";
      },
      percent: 1,
    });
    expect(checkFields(schema, { elements: Array.from({ length: 3000 }, counts) })).toEqual([]);
    // The name of the alternative that it is, once for each of the two.
    expect(looked).toBeLessThanOrEqual(2 * 1000 + 2000);
    looked = 0;
    const free = Object.assign(v.record(v.string(), v.string()), {});
    Object.defineProperty(free, "value", {
      get() {
        looked++;
        return v.string();
      },
    });
    const names = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`name${n}`, "x"]));
    const texts = Array.from({ length: 3000 }, () => "x");
    const both = v.object({
      texts: v.array(v.string()),
      free,
      last: v.object({ url: v.string() }),
    });
    expect(refusal(both, { texts, free: names, last: { ulr: "x" } })).toContain("last.url");
    expect(looked).toBe(0);
  });

  it("tells of other unknown fields, with the nearest if there is one", () => {
    expect(checkFields(schema, { novelty: 1, rules: [{ mode: "split", at: 1 }] })).toEqual([
      'Unknown field "novelty"',
      'Unknown field "rules.0.at"',
    ]);
    expect(checkFields(schema, { authenticated: 1 })).toEqual([
      'Unknown field "authenticated": did you mean "authentication"?',
    ]);
  });

  it("looks at a bounded part of a hostile body", () => {
    const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`f${i}`, 1]));
    expect(checkFields(schema, many)).toHaveLength(32);
    const long = checkFields(schema, { ["x".repeat(1_000_000)]: 1 });
    expect(long[0]?.length).toBeLessThan(200);
    const rules = Array.from({ length: 1_000_000 }, () => ({ mode: "split", percent: 1 }));
    expect(checkFields(schema, { rules })).toEqual([]);
    const own: unknown = JSON.parse('{"__proto__": {"authentcation": 1}, "constructor": 1}');
    expect(checkFields(schema, own)).toHaveLength(2);
  });
});

describe("a route", () => {
  const schema = v.object({ name: v.string(), limit: v.optional(v.number()) });
  const app = new Hono();
  app.post("/things/:account_id", authorize("off", "AI Gateway Edit"), async (c) =>
    envelope(await readJson(c, schema), { status: 201, messages: [{ code: 1, message: "kept" }] }),
  );
  app.post("/plain", authorize("off", "AI Gateway Edit", "a"), async (c) => {
    const { name } = await readJson(c, schema);
    return c.json({ name });
  });
  app.get("/list", authorize("off", "AI Gateway Read", "a"), (c) => {
    checkQuery(c, ["page", "per_page"]);
    return envelope(readQuery(c, v.object({ page: v.optional(v.string()) })));
  });
  app.delete("/list", (c) => {
    checkWholeQuery(c, ["page"]);
    return envelope(null);
  });
  closeRoutes(app, ["/*"], "api", {
    system: { now: () => 0, id: () => "id" },
    log: () => undefined,
  } as never);
  const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await app.request(path, init);
    const json: unknown = await response.json();
    return { status: response.status, json };
  };

  it("answers a misspelt field with a 400 that names both, before any other misfit", async () => {
    expect(await send("POST", "/things/acme", { nmae: "x" })).toMatchObject({
      status: 400,
      json: {
        success: false,
        errors: [{ code: 400, message: 'Unknown field "nmae": did you mean "name"?' }],
      },
    });
  });

  it("tells of other unknown fields in the messages of its answer", async () => {
    expect(await send("POST", "/things/acme", { name: "x", novelty: 1 })).toEqual({
      status: 201,
      json: {
        result: { name: "x" },
        success: true,
        errors: [],
        messages: [
          { code: 1, message: "kept" },
          { code: 10415, message: 'Unknown field "novelty" (ignored)' },
        ],
      },
    });
  });

  it("adds them at the end of an answer, and leaves what is before it as it is", async () => {
    const routes = new Hono();
    // Numbers that JavaScript rounds, and messages that are not the answer's own.
    const result =
      '{"id":12345678901234567890,"of":{"a":1,"messages":["b"]},"text":",\\"messages\\":["}';
    const begin = `{"result":${result},"success":true,"errors":[],"messages":[`;
    routes.get("/", addsUnknownFields, (c) => {
      checkQuery(c, []);
      return c.body(`${begin}],"result_info":{"count":1}}`, 200, {
        "content-type": "application/json",
      });
    });
    routes.get("/inner", addsUnknownFields, (c) => {
      checkQuery(c, []);
      return c.json({ a: { b: 1, messages: [] } });
    });
    const note = '{"code":10415,"message":"Unknown parameter \\"x\\" (ignored)"}';
    expect(await (await routes.request("/?x=1")).text()).toBe(
      `${begin}${note}],"result_info":{"count":1}}`,
    );
    expect(await (await routes.request("/inner?x=1")).json()).toEqual({
      a: { b: 1, messages: [] },
    });
  });

  it("names them in a header where the answer is not JSON", async () => {
    const routes = new Hono();
    routes.get("/", addsUnknownFields, (c) => {
      checkQuery(c, []);
      return c.body("bytes", 200, { "content-type": "application/pdf" });
    });
    const of = async (query: string) =>
      (await routes.request(`/?${query}`)).headers.get("x-messages");
    expect(await of('%C3%A9"=1&b=2')).toBe(
      '"Unknown parameter \\"?\\"\\" (ignored)", "Unknown parameter \\"b\\" (ignored)"',
    );
    expect(await of("")).toBe(null);
    const many = Array.from({ length: 20 }, (_, n) => `p${n}=1`).join("&");
    expect((await of(many))?.split(", ")).toHaveLength(10);
  });

  it("leaves an answer without messages as it is", async () => {
    const answer = await send("POST", "/plain", { name: "x", novelty: 1 });
    expect(answer).toEqual({ status: 200, json: { name: "x" } });
  });

  it("refuses a misspelt parameter, and tells of others", async () => {
    expect(await send("GET", "/list?perPage=1")).toMatchObject({
      status: 400,
      json: {
        errors: [{ message: 'Unknown parameter "perPage": did you mean "per_page"?' }],
      },
    });
    expect(await send("GET", "/list?page=1")).toMatchObject({ json: { messages: [] } });
    expect(await send("GET", "/list?colour=red")).toMatchObject({
      status: 200,
      json: { messages: [{ message: 'Unknown parameter "colour" (ignored)' }, {}] },
    });
  });

  it("refuses any unknown parameter where less of a query means more of an effect", async () => {
    expect(await send("DELETE", "/list?colour=red")).toMatchObject({ status: 400 });
    expect(await send("DELETE", "/list?page=1")).toMatchObject({ status: 200 });
  });
});
