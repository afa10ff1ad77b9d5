import { describe, expect, it } from "vitest";
import { parseLogQuery } from "../../../../core/gateway/observe/log/log-filters.ts";

const filters = (query: string) => parseLogQuery(query).filters;

describe("parseLogQuery()", () => {
  it("opens a new filter at each filters.key, in the order of the query", () => {
    const query =
      "?filters.key=cached&filters.operator=eq&filters.value=true" +
      "&filters.key=metadata.key&filters.operator=contains&filters.value=u&filters.value=v" +
      "&filters.key=tokens_in&filters.operator=gt&filters.value=10";
    expect(filters(query)).toEqual([
      { key: "cached", operator: "eq", value: [true] },
      { key: "metadata.key", operator: "contains", value: ["u", "v"] },
      { key: "tokens_in", operator: "gt", value: [10] },
    ]);
  });

  it("reads an empty value as null and no value as none", () => {
    expect(filters("filters.key=cost&filters.operator=eq&filters.value=")).toEqual([
      { key: "cost", operator: "eq", value: [null] },
    ]);
    expect(filters("filters.key=cost&filters.operator=eq")).toEqual([
      { key: "cost", operator: "eq", value: [] },
    ]);
  });

  it("reads times, flat parameters, order and search", () => {
    expect(
      parseLogQuery(
        "start_date=2026-01-01T00:00:00Z&max_cost=2&success=false&order_by=model&order_by_direction=asc&search=x&page=2&page=3",
      ),
    ).toEqual({
      filters: [
        { key: "created_at", operator: "gt", value: [Date.UTC(2026, 0, 1) - 1] },
        { key: "cost", operator: "lt", value: [2 + 1e-9] },
        { key: "success", operator: "eq", value: [false] },
      ],
      orderBy: "model",
      descending: false,
      search: "x",
    });
  });

  it.each([
    "filters.value=1",
    "filters.key=nope",
    "filters.key=constructor",
    "filters.key=cost&filters.operator=like",
    "filters.key=cost&filters.value=many",
    "filters.key=cached&filters.value=maybe",
    "order_by=id;drop",
    "order_by_direction=up",
    Array.from({ length: 40 }, () => "filters.key=id&filters.value=1").join("&"),
  ])("refuses %j", (query) => {
    expect(() => parseLogQuery(query)).toThrow();
  });
});
