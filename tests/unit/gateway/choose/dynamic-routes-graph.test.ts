import { describe, expect, it } from "vitest";
import {
  advanceRoute,
  readGraph,
  storedGraph,
} from "../../../../core/gateway/routing/dynamic/graph.ts";
import { factAt, type RouteFacts } from "../../../../core/gateway/routing/dynamic/facts.ts";
import { conditionProblem, satisfies } from "../../../../core/http/json/condition.ts";

const to = (elementId: string) => ({ elementId });
const start = (next: string) => ({ id: "start", type: "start", outputs: { next: to(next) } });
const end = { id: "end", type: "end", outputs: {} };
const model = (
  id: string,
  provider: string,
  name: string,
  fallback: string = "end",
  more: object = {},
) => ({
  id,
  type: "model",
  properties: { provider, model: name, retries: 0, timeout: 0, ...more },
  outputs: { success: to("end"), fallback: to(fallback) },
});
const facts = (metadata: object, body: object = {}, headers: object = {}) =>
  ({ metadata, body, headers }) as RouteFacts;

describe("a condition", () => {
  it.each([
    [{ "metadata.plan": { $eq: "free" } }, true],
    [{ "metadata.plan": "free" }, true],
    [{ plan: "free" }, true],
    [{ "metadata.plan": { $ne: "free" } }, false],
    [{ "metadata.age": { $gte: 7, $lt: 8 } }, true],
    [{ "metadata.age": { $gt: "6" } }, false],
    [{ "metadata.plan": { $in: ["free", "paid"] } }, true],
    [{ "metadata.plan": { $nin: ["free"] } }, false],
    [{ "metadata.none": { $exists: false } }, true],
    [{ "metadata.none": { $lt: 5 } }, false],
    [{ "body.messages.0.role": "user" }, true],
    [{ "headers.X-Region": "eu" }, true],
    [{ $and: [{ plan: "free" }, { age: 7 }] }, true],
    [{ $or: [{ plan: "paid" }, { age: 7 }] }, true],
    [{ $nor: [{ plan: "paid" }, { age: 7 }] }, false],
    [{ $not: { plan: "paid" } }, true],
    [{ plan: { $not: { $eq: "free" } } }, false],
    [{ plan: "free", age: 8 }, false],
    [{}, true],
  ])("%j is %s", (condition, expected) => {
    const body = { messages: [{ role: "user" }] };
    expect(conditionProblem(condition)).toBeNull();
    const all = facts({ plan: "free", age: 7 }, body, { "x-region": "eu" });
    expect(satisfies(condition, (path) => factAt(path, all))).toBe(expected);
  });

  it.each([
    [null, /object/],
    [{ a: { $regex: "x" } }, /Unknown operator "\$regex"/],
    [{ $and: {} }, /list of conditions/],
    [{ a: [1] }, /needs "\$in"/],
    [{ a: { $in: 1 } }, /list of at most/],
    [{ a: {} }, /value or operators/],
    [{ a: 2 ** 53 }, /number 9007199254740992 is rounded/],
    [{ a: { $not: { $in: ["x", Infinity] } } }, /number Infinity is rounded/],
    [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, 1])), /at most 100 terms/],
    [JSON.parse(`${'{"$not":'.repeat(10)}{}${"}".repeat(10)}`), /levels deep/],
    [JSON.parse(`{"a":${'{"$not":'.repeat(10)}1${"}".repeat(11)}`), /levels deep/],
  ])("%j is refused", (condition, problem) => {
    expect(conditionProblem(condition)).toMatch(problem);
  });

  it("finds no inherited members", () => {
    expect(factAt("metadata.constructor", facts({}))).toBeUndefined();
    expect(factAt("__proto__", facts({}))).toBeUndefined();
  });
});

describe("advance()", () => {
  const split = readGraph([
    start("split"),
    { id: "split", type: "percentage", outputs: { "10%": to("a"), "50%": to("b"), else: to("c") } },
    ...["a", "b", "c"].map((id) => model(id, "openai", id)),
    end,
  ]);

  it.each([
    [0, "a"],
    [0.0999, "a"],
    [0.1, "b"],
    [0.5999, "b"],
    [0.6, "c"],
    [0.9999, "c"],
  ])("splits by percentage: %d leads to %s", (random, expected) => {
    expect(advanceRoute(split, split.start, facts({}), () => random)).toMatchObject({
      model: expected,
    });
  });

  it("gives the whole range to percentages of 100 in sum", () => {
    const third = readGraph([
      start("split"),
      { id: "split", type: "percentage", outputs: { "33.3%": to("a"), "66.7%": to("b") } },
      model("a", "openai", "a"),
      model("b", "openai", "b"),
      end,
    ]);
    expect(advanceRoute(third, third.start, facts({}), () => 1 - 2 ** -32)).toMatchObject({
      model: "b",
    });
  });

  it.each(["condition", "conditions"])("branches on %s", (spelling) => {
    const graph = readGraph([
      start("if"),
      {
        id: "if",
        type: "conditional",
        properties: { [spelling]: { "metadata.plan": { $eq: "paid" } } },
        outputs: { true: to("big"), false: to("small") },
      },
      model("big", "openai", "big"),
      model("small", "openai", "small"),
      end,
    ]);
    const led = (plan: string) => advanceRoute(graph, graph.start, facts({ plan }), () => 0);
    expect([led("paid"), led("free")]).toMatchObject([{ model: "big" }, { model: "small" }]);
  });

  it.each([
    { type: "rate", properties: { key: "", limit: 5, limitType: "count", window: 60 } },
    { type: "rate_limit", properties: { limit: 5, interval: 60, technique: "sliding" } },
  ])("stops at a rate element of $type", (rate) => {
    const graph = readGraph([
      start("r"),
      { id: "r", ...rate, outputs: { success: to("end") } },
      end,
    ]);
    expect(advanceRoute(graph, graph.start, facts({}), () => 0)).toMatchObject({
      kind: "rate",
      limit: 5,
      window: 60,
      limitType: "count",
      fallback: null,
    });
  });
});

describe("readGraph()", () => {
  it("counts elements before it reads one", () => {
    let reads = 0;
    const element = () => ({
      get type() {
        reads++;
        return "end";
      },
    });
    const many = Array.from({ length: 101 }, element);
    expect(() => readGraph(many)).toThrow("at most 100 elements are allowed");
    // Once each: the values of every body are counted.
    expect(reads).toBe(many.length);
    reads = 0;
    expect(() => readGraph(many.slice(1))).toThrow("id");
    expect(reads).toBeGreaterThan(many.length);
  });

  it.each([
    ["no start", [end, { ...end, id: "e2" }], /exactly one "start", got 0/],
    ["two starts", [start("end"), { ...start("end"), id: "s2" }, end], /got 2/],
    ["a double id", [start("end"), end, end], /"end" has the id of another/],
    ["a missing target", [start("nowhere"), end], /leads to "nowhere"/],
    ["a circle", [start("a"), model("a", "x", "m", "b"), model("b", "x", "m", "a"), end], /circle/],
    [
      "a way back to the start",
      [start("a"), model("a", "x", "m", "start"), end],
      /back to the start/,
    ],
    ["an unknown type", [start("x"), { id: "x", type: "magic" }, end], /type/],
    [
      "more than 100 %",
      [
        start("s"),
        { id: "s", type: "percentage", outputs: { "60%": to("end"), "50%": to("end") } },
        end,
      ],
      /110 in sum/,
    ],
    [
      "less than 100 % without else",
      [start("s"), { id: "s", type: "percentage", outputs: { "60%": to("end") } }, end],
      /add "else"/,
    ],
    [
      "a share that is none",
      [
        start("s"),
        { id: "s", type: "percentage", outputs: { half: to("end"), else: to("end") } },
        end,
      ],
      /percentages such as/,
    ],
    [
      "a bad condition",
      [
        start("c"),
        {
          id: "c",
          type: "conditional",
          properties: { conditions: { a: { $where: 1 } } },
          outputs: { true: to("end"), false: to("end") },
        },
        end,
      ],
      /\$where/,
    ],
    ["too many retries", [start("m"), model("m", "x", "m", "end", { retries: 9 }), end], /retries/],
    [
      "no window",
      [
        start("r"),
        { id: "r", type: "rate", properties: { limit: 1 }, outputs: { success: to("end") } },
        end,
      ],
      /window/,
    ],
  ])("refuses %s", (_, elements, message) => {
    expect(() => readGraph(elements)).toThrow(message);
  });
});

describe("the conditions of a route", () => {
  const elements = (condition: object): object[] => [
    start("if"),
    {
      id: "if",
      type: "conditional",
      properties: { condition },
      outputs: { true: to("end"), false: to("end") },
    },
    end,
  ];

  it("are checked when it is made, not when a stored one is read", () => {
    const earlier = elements({ plan: { $exists: "yes" } });
    expect(() => readGraph(earlier)).toThrow('"$exists" takes true or false');
    expect(storedGraph(earlier).elements.get("if")).toMatchObject({ kind: "conditional" });
  });

  it("name facts by paths without an empty name", () => {
    expect(() => readGraph(elements({ "body..model": "a" }))).toThrow('write "body.model"');
    expect(() => readGraph(elements({ "a..b": "key of the metadata" }))).not.toThrow();
  });
});
