import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError } from "../../../core/http/api-error.ts";
import { type Filter, parseFilter } from "../../../core/search/filter/filter.ts";
import {
  comparable,
  indexMetadata,
  type Metadata,
  type MetadataField,
  parseMetadata,
} from "../../../core/search/filter/metadata.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

const codeOf = (work: () => unknown): number => {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
  return 0;
};

describe("parseFilter()", () => {
  it("reads several keys and several operators as AND", () => {
    expect(parseFilter({ a: 1, b: { $gte: 2, $lt: 3 } })).toEqual({
      op: "and",
      filters: [
        { op: "eq", field: "a", value: 1 },
        { op: "gte", field: "b", value: 2 },
        { op: "lt", field: "b", value: 3 },
      ],
    });
  });

  it("takes a field called type for a field", () => {
    expect(parseFilter({ type: "eq" })).toEqual({
      op: "and",
      filters: [{ op: "eq", field: "type", value: "eq" }],
    });
    expect(parseFilter({ type: "eq", key: "a", value: "b" })).toEqual({
      op: "eq",
      field: "a",
      value: "b",
    });
  });

  it.each([
    [
      {
        type: "or",
        filters: [
          { type: "eq", key: "a", value: 1 },
          { type: "gt", key: "a", value: 1 },
        ],
      },
      7015,
    ],
    [
      {
        type: "or",
        filters: [
          { type: "eq", key: "a", value: 1 },
          { type: "eq", key: "b", value: 1 },
        ],
      },
      7016,
    ],
    [{ type: "and", filters: [{ type: "and", filters: [] }] }, 7058],
    [{ type: "and", filters: [] }, 7058],
    [{ type: "eq", key: "a" }, 7058],
    [{ type: "eq", key: "a", value: "b", filters: [] }, 7058],
    [{ a: {} }, 7058],
    [{ a: { $or: [1] } }, 7058],
    [{ a: { $gt: true } }, 7058],
    [{ a: { $gt: null } }, 7058],
    [{ a: { $in: "x" } }, 7058],
    [{ a: { $in: [] } }, 7058],
    [{ a: { $eq: { b: 1 } } }, 7058],
    [{ a: [1] }, 7058],
    [{ $and: [] }, 7058],
    [[], 7058],
    ["x", 7058],
  ])("refuses %j with %i", (raw, code) => {
    expect(codeOf(() => parseFilter(raw))).toBe(code);
  });

  it("never throws anything but an API error", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (raw) => {
        const code = codeOf(() => parseFilter(raw));
        expect([0, 7015, 7016, 7058]).toContain(code);
      }),
    );
  });
});

describe("metadata", () => {
  it("is refused with 7056 unless it is an object of scalars", () => {
    for (const source of ["[1]", "{", '{"a":null}', '{"a":{}}', "1"])
      expect(codeOf(() => parseMetadata(source))).toBe(7056);
    expect(parseMetadata('{"Team":"a","n":1,"ok":true}')).toEqual({ team: "a", n: 1, ok: true });
    // Rounded, two customers would be one.
    expect(parseMetadata('{"Customer":12345678901234567891,"n":1.5}')).toEqual({
      customer: "12345678901234567891",
      n: 1.5,
    });
  });

  it("warns of values that do not fit the schema and of fields outside it", () => {
    const schema: MetadataField[] = [
      { field_name: "n", data_type: "number" },
      { field_name: "when", data_type: "datetime" },
      { field_name: "ok", data_type: "boolean" },
    ];
    const { values, warnings } = indexMetadata(
      "a/b.md",
      5000,
      { n: "x", when: "2024-01-01", ok: "yes", other: 1 },
      schema,
    );
    expect(warnings).toEqual([
      { code: "custom_metadata_value_not_indexed", field: "n", expected_type: "number" },
      { code: "custom_metadata_field_not_filterable", field: "other" },
    ]);
    expect(values).toContainEqual({ field: "when", num: 1704067200, txt: null });
    expect(values).toContainEqual({ field: "ok", num: 1, txt: null });
    expect(values).toContainEqual({ field: "folder", num: null, txt: "a/" });
  });

  it("compares the first 64 bytes of a text, never half a character", () => {
    expect(comparable("é".repeat(40))).toBe("é".repeat(32));
    expect(comparable(`${"a".repeat(63)}é`)).toBe("a".repeat(63));
  });
});

const fields = ["team", "size", "flag"] as const;
const schema: MetadataField[] = [
  { field_name: "team", data_type: "text" },
  { field_name: "size", data_type: "number" },
  { field_name: "flag", data_type: "boolean" },
];
const values = {
  team: fc.constantFrom("a", "b", "B", "ä", "'; DROP TABLE search_items; --", ""),
  size: fc.constantFrom(-1, 0, 1.5, 10),
  flag: fc.boolean(),
};

/** What a filter means, said a second time and differently. */
function holds(filter: Filter, item: Metadata): boolean {
  if ("filters" in filter) {
    return filter.op === "and"
      ? filter.filters.every((one) => holds(one, item))
      : filter.filters.some((one) => holds(one, item));
  }
  const value = item[filter.field];
  if ("values" in filter)
    return filter.values.some((one) => one === value) === (filter.op === "in");
  if (filter.op === "ne") return value !== (filter.value ?? undefined);
  if (filter.op === "eq") return value === (filter.value ?? undefined);
  if (value === undefined || filter.value === null) return false;
  const order = value < filter.value ? -1 : value > filter.value ? 1 : 0;
  return { lt: order < 0, lte: order <= 0, gt: order > 0, gte: order >= 0 }[filter.op];
}

const condition = fc.constantFrom(...fields).chain((field) => {
  const value: fc.Arbitrary<string | number | boolean> = values[field];
  const ordered = field === "flag" ? [] : ["$lt", "$lte", "$gt", "$gte"];
  return fc.oneof(
    value.map((one) => ({ [field]: one })),
    fc
      .tuple(fc.constantFrom("$eq", "$ne", ...ordered), value)
      .map(([op, one]) => ({ [field]: { [op]: one } })),
    fc
      .tuple(fc.constantFrom("$in", "$nin"), fc.array(value, { minLength: 1, maxLength: 3 }))
      .map(([op, some]) => ({ [field]: { [op]: some } })),
    fc.constantFrom("$eq", "$ne").map((op) => ({ [field]: { [op]: null } })),
  );
});
const modern = fc
  .array(condition, { maxLength: 3 })
  .map((parts): Record<string, unknown> => Object.assign({}, ...parts));
const legacy = fc
  .tuple(fc.constantFrom("and", "or"), fc.array(values.team, { minLength: 1, maxLength: 3 }))
  .map(([type, teams]) => ({
    type,
    filters: teams.map((value) => ({ type: "eq", key: "team", value })),
  }));

describe("a metadata filter", () => {
  let api: SearchUnderTest;
  const items = new Map<string, Metadata>();
  beforeAll(async () => {
    api = await searchUnderTest({}, { custom_metadata: schema });
    const rows = fc.sample(fc.record(values, { requiredKeys: [] }), { numRuns: 12, seed: 7 });
    for (const [n, metadata] of rows.entries()) {
      items.set(`${n}.md`, metadata);
      await api.upload(`${n}.md`, `common text number ${n}`, { metadata });
    }
  });
  afterAll(() => api.close());

  it("selects in SQL what a plain interpreter selects, in every leg", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(modern, legacy),
        fc.constantFrom("keyword", "vector", "hybrid"),
        async (filters, type) => {
          const chunks = await api.search("common text", {
            filters,
            retrieval_type: type,
            match_threshold: 0,
            max_num_results: 50,
          });
          const wanted = [...items]
            .filter(([, metadata]) => holds(parseFilter(filters), metadata))
            .map(([key]) => key);
          expect(chunks.map((chunk) => chunk.item.key).toSorted()).toEqual(wanted.toSorted());
        },
      ),
      { numRuns: 40 },
    );
  });

  it("applies to the built-in fields, with seconds and milliseconds alike", async () => {
    await api.upload("docs/guide.md", "common guide");
    const now = api.platform.system.now();
    const keys = async (filters: unknown): Promise<string[]> =>
      (await api.search("common", { filters, retrieval_type: "keyword", max_num_results: 50 })).map(
        (chunk) => chunk.item.key,
      );
    expect(await keys({ folder: "docs/" })).toEqual(["docs/guide.md"]);
    expect(await keys({ filename: "guide.md" })).toEqual(["docs/guide.md"]);
    expect(await keys({ folder: { $gte: "docs/", $lt: "docs0" } })).toEqual(["docs/guide.md"]);
    expect(await keys({ timestamp: { $gt: now + 60_000 } })).toEqual([]);
    expect(
      await keys({ folder: "docs/", timestamp: { $lte: Math.ceil(now / 1000) + 60 } }),
    ).toEqual(["docs/guide.md"]);
  });

  it.each([
    [{ timestamp: "yesterday" }, 7057],
    [{ size: { $gt: "x" } }, 7058],
    [{ team: 1 }, 7058],
    [{ a: { $regex: "x" } }, 7058],
  ])("answers %j with %i", async (filters, code) => {
    const { status, body } = await api.call("POST", "/instances/main/search", {
      query: "x",
      ai_search_options: { retrieval: { filters } },
    });
    expect([status, body.errors?.[0]?.code]).toEqual([400, code]);
  });
});

describe("a filter on a field that the instance does not have", () => {
  it("is told with the nearest name, of each instance that is asked", async () => {
    const custom_metadata = [{ field_name: "price", data_type: "number" }];
    const api = await searchUnderTest({}, { custom_metadata });
    await api.upload("a.md", "zebra", { metadata: { price: 2 } });
    const messages = async (filters: object, path: string, more: object): Promise<string[]> => {
      const ai_search_options = { retrieval: { filters }, ...more };
      const { body } = await api.call("POST", path, { query: "zebra", ai_search_options });
      return body.messages.map(({ code, message }) => `${code} ${message}`);
    };
    const told = 'filters: no item has the field "prise": did you mean "price"?';
    const [one, all] = ["/instances/main/search", "/namespaces/default/search"];
    expect(await messages({ prise: { $lt: 3 } }, one, {})).toEqual([`7058 ${told}`]);
    const older = { type: "eq", key: "prise", value: 2 };
    expect(await messages(older, all, { instance_ids: ["main"] })).toEqual([`7058 main: ${told}`]);
    expect(await messages({ price: { $lt: 3 }, folder: "x/" }, one, {})).toEqual([]);
    await api.close();
  });
});
