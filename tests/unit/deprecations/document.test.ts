import { describe, expect, it } from "vitest";
import {
  defineDeprecation,
  deprecateDocument,
  type DocumentOptions,
} from "../../../core/deprecations/mod.ts";

const own = {
  id: "orders-v1",
  on: "GET /v1/orders/{id}",
  since: "2026-01-01",
  sunset: "2026-07-01",
};
const orders = defineDeprecation({ ...own, use: "GET /v2/orders/{id}" });
const error = { description: "Wrong", content: { "application/json": {} } };

/** The operations of a document's paths, told with entries. */
function told(
  paths: object,
  entries: DocumentOptions["entries"] = [orders],
  more: Partial<DocumentOptions> & { readonly components?: object } = {},
): Record<string, Record<string, Record<string, never>>> {
  const { components = {}, ...options } = more;
  const document = { openapi: "3.1.0", paths, components };
  const before = JSON.stringify(document);
  const after = deprecateDocument(document, { entries: entries ?? [], basePath: "", ...options });
  expect(JSON.stringify(document)).toBe(before);
  return after.paths as never;
}

describe("deprecateDocument()", () => {
  it("marks an operation that ends, whatever its parameter is called, and adds its 410", () => {
    const get = { responses: { "200": {}, default: { $ref: "#/components/responses/Wrong" } } };
    const paths = told(
      { "/v1/orders/{order}": { get, put: get }, "/v2/orders": { get } },
      [orders],
      {
        components: { responses: { Wrong: error } },
      },
    );
    const marked = paths["/v1/orders/{order}"]!["get"]!;
    expect(marked).toMatchObject({
      deprecated: true,
      "x-sunset": "2026-07-01",
      "x-deprecation": [
        {
          id: "orders-v1",
          date: "2026-01-01",
          replacement: [{ method: "GET", path: "/v2/orders/{id}" }],
        },
      ],
    });
    expect(Object.keys(marked["responses"]!)).toEqual(["200", "410", "default"]);
    expect(marked["responses"]!["410"]).toMatchObject({
      description: "Gone since 2026-07-01. Use GET /v2/orders/{id}.",
      content: error.content,
    });
    expect(paths["/v1/orders/{order}"]!["put"]).toBe(get);
    expect(paths["/v2/orders"]!["get"]).toBe(get);
  });

  it("keeps a 410 that is described, and adds none to what is only announced or never ends", () => {
    const gone = { description: "Mine" };
    const of = (entry: typeof orders, responses: object, more: Partial<DocumentOptions> = {}) =>
      told({ "/v1/orders/{id}": { get: { responses } } }, [entry], more)["/v1/orders/{id}"]![
        "get"
      ]!;
    expect(of(orders, { "410": gone })["responses"]).toEqual({ "410": gone });
    expect(of(defineDeprecation({ ...own, after: "announce" }), {})["responses"]).toEqual({});
    const paused = of(orders, {}, { settings: { "orders-v1": { pause: true } } });
    expect([paused["deprecated"], paused["x-sunset"], paused["responses"]]).toEqual([
      true,
      undefined,
      {},
    ]);
  });

  it("has the ends that settings move, and leaves alone what they switch off", () => {
    const get = { responses: {} };
    const of = (settings: DocumentOptions["settings"]) =>
      told({ "/v1/orders/{id}": { get } }, [orders], { settings: settings ?? {} })[
        "/v1/orders/{id}"
      ]!["get"]!;
    expect(of({ "orders-v1": { extend: "2027-01-01T12:00:00Z" } })["x-sunset"]).toBe("2027-01-01");
    expect(of({ "orders-v1": { mode: "off" } })).toBe(get);
  });

  it("says the earlier of two ends, and both entries", () => {
    const later = defineDeprecation({
      ...own,
      id: "all-v1",
      on: "* /v1/orders/{id}",
      sunset: "2026-09-01",
    });
    const first = defineDeprecation({ ...own, on: "* /v1/orders/{id}" });
    const marked = told({ "/v1/orders/{id}": { get: { responses: {} } } }, [later, first])[
      "/v1/orders/{id}"
    ]!["get"]!;
    expect(marked["x-sunset"]).toBe("2026-07-01");
    expect((marked["x-deprecation"] as unknown as { id: string }[]).map(({ id }) => id)).toEqual([
      "all-v1",
      "orders-v1",
    ]);
  });

  it("marks parameters of a query, also those of the path or behind a reference", () => {
    const entry = defineDeprecation({ ...own, fields: ["old", "older", "oldest"] });
    const old = (name: string): object => ({ name, in: "query", schema: { type: "string" } });
    const fresh = old("fresh");
    const inHeader = { name: "old", in: "header" };
    const path = {
      parameters: [old("older"), old("old")],
      get: { parameters: [old("old"), fresh, inHeader, { $ref: "#/components/parameters/O~1~0" }] },
      put: { parameters: [] },
    };
    const components = { parameters: { "O/~": old("oldest") } };
    const item = told({ "/v1/orders/{id}": path }, [entry], { components })["/v1/orders/{id}"]!;
    const parameters = item["get"]!["parameters"] as unknown as Record<string, unknown>[];
    expect(parameters.map((one) => [one["name"], one["in"], one["x-sunset"]])).toEqual([
      ["older", "query", "2026-07-01"],
      ["old", "query", "2026-07-01"],
      ["fresh", "query", undefined],
      ["old", "header", undefined],
      ["oldest", "query", "2026-07-01"],
    ]);
    expect(item["get"]!["deprecated"]).toBeUndefined();
    expect(item["put"]).toBe(path.put);
  });

  const json = (schema: object): object => ({ content: { "application/json": { schema } } });
  const text = { type: "string" };
  const ending = { ...text, deprecated: true, "x-sunset": "2026-07-01" };

  it("marks properties in a copy of a shared schema, at any depth, also one that contains itself", () => {
    const entry = defineDeprecation({
      ...own,
      fields: ["customer.fax", "note"],
      where: "response",
    });
    const person = { type: "object", properties: { fax: text, note: text } };
    const Order = {
      properties: {
        customer: { $ref: "#/components/schemas/Person" },
        seller: { $ref: "#/components/schemas/Person" },
        parts: { type: "array", items: { $ref: "#/components/schemas/Order" } },
      },
    };
    const answer = json({ oneOf: [{ $ref: "#/components/schemas/Order" }, { type: "null" }] });
    const get = { requestBody: answer, responses: { "200": answer, "404": answer } };
    const components = { schemas: { Person: person, Order } };
    const marked = told({ "/v1/orders/{id}": { get } }, [entry], { components })[
      "/v1/orders/{id}"
    ]!["get"]! as unknown as typeof get;
    expect(marked.requestBody).toBe(answer);
    expect(marked.responses["404"]).toBe(answer);
    expect(marked.responses["200"]).toMatchObject(
      json({
        oneOf: [
          {
            properties: {
              customer: { properties: { fax: ending, note: ending } },
              seller: { properties: { fax: text, note: ending } },
              parts: { items: { $ref: "#/components/schemas/Order" } },
            },
          },
          { type: "null" },
        ],
      }),
    );
    const { fax } = (
      marked.responses["200"] as {
        content: {
          "application/json": { schema: { oneOf: [{ properties: { seller: typeof person } }] } };
        };
      }
    ).content["application/json"].schema.oneOf[0].properties.seller.properties;
    expect(fax).toBe(text);
  });

  it("marks properties of a request only, where only the request ends", () => {
    const on = "PUT /v1/orders/{id}";
    const entry = defineDeprecation({ ...own, on, fields: ["note"], where: "request" });
    const body = json({ properties: { note: text } });
    const put = { requestBody: body, responses: { "200": body } };
    const marked = told({ "/v1/orders/{id}": { put } }, [entry])["/v1/orders/{id}"]!["put"]!;
    expect(marked["requestBody"]).toMatchObject(json({ properties: { note: ending } }));
    expect(marked["responses"]!["200"]).toBe(body);
  });

  it("takes references in a circle, and ones that lead nowhere", () => {
    const entry = defineDeprecation({ ...own, fields: ["note"], where: "response" });
    const schemas = {
      A: { $ref: "#/components/schemas/B" },
      B: { $ref: "#/components/schemas/A" },
    };
    for (const $ref of ["#/components/schemas/A", "#/none/%E0", "other.json#/A"]) {
      const get = { responses: { "200": json({ $ref }) } };
      const paths = told({ "/v1/orders/{id}": { get } }, [entry], { components: { schemas } });
      expect(paths["/v1/orders/{id}"]!["get"]).toEqual(get);
    }
  });

  it("passes documents without paths, or with odd ones", () => {
    expect(deprecateDocument({})).toEqual({ paths: {} });
    const paths = { "/v1/orders/{id}": null, "x-mine": 1 };
    expect(told(paths)).toEqual(paths);
  });
});
