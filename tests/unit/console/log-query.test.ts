import { describe, expect, it } from "vitest";
import { csvOf, type GatewayRow, logQuery, noFilter } from "../../../console/log-query.ts";
import { parseLogQuery } from "../../../core/gateway/observe/log/log-filters.ts";

const NOW = Date.UTC(2026, 10, 27, 12);

/** What the API reads of a filter. */
const read = (filter: Partial<typeof noFilter>, models: readonly string[] = []) =>
  parseLogQuery(logQuery({ ...noFilter, ...filter }, NOW, models).toString());

describe("the filters of the console's log", () => {
  it("find all when nothing is chosen", () => {
    expect(read({})).toEqual({
      filters: [],
      orderBy: "created_at",
      descending: true,
      search: "",
    });
  });

  it("are read by the API as they are meant", () => {
    const query = read(
      {
        text: " timeout ",
        provider: "openai",
        model: "gpt-4o",
        caller: "key:one",
        outcome: "failed",
        range: "day",
        tokens: "10",
        cost: "0.5",
        firstByte: "800",
      },
      ["gpt-4o"],
    );
    expect(query.search).toBe("timeout");
    expect(query.filters).toEqual([
      { key: "created_at", operator: "gt", value: [NOW - 86_400_000 - 1] },
      { key: "provider", operator: "eq", value: ["openai"] },
      { key: "model", operator: "eq", value: ["gpt-4o"] },
      { key: "caller", operator: "eq", value: ["key:one"] },
      { key: "success", operator: "eq", value: [false] },
      { key: "tokens", operator: "gt", value: [9] },
      { key: "cost", operator: "gt", value: [0.5 - 1e-12] },
      { key: "first_byte", operator: "gt", value: [799] },
    ]);
  });

  it("look for a part of a model's name that is not known", () => {
    expect(read({ model: "gpt" }, ["gpt-4o"]).filters).toEqual([
      { key: "model", operator: "contains", value: ["gpt"] },
    ]);
  });

  it("end yesterday where today begins, and take times of one's own", () => {
    const midnight = new Date(NOW).setHours(0, 0, 0, 0);
    expect(read({ range: "yesterday" }).filters).toMatchObject([
      { key: "created_at", operator: "gt" },
      { key: "created_at", operator: "lt", value: [midnight] },
    ]);
    const from = "2026-11-20T08:00";
    expect(read({ range: "custom", from, until: "nonsense" }).filters).toEqual([
      { key: "created_at", operator: "gt", value: [new Date(from).getTime() - 1] },
    ]);
    expect(read({ outcome: "cached", tokens: "many" }).filters).toEqual([
      { key: "cached", operator: "eq", value: [true] },
    ]);
  });
});

describe("the exported CSV", () => {
  const row: GatewayRow = {
    id: "01M8",
    gateway: "default",
    created_at: "2026-11-27T12:00:00.000Z",
    provider: "openai",
    model: '=HYPERLINK("x")',
    path: "chat/completions",
    status_code: 200,
    success: true,
    cached: false,
    duration: 12,
    first_byte: 3,
    tokens_in: 1,
    tokens_out: null,
    cost: 0.25,
    custom_cost: false,
    step: 0,
    event_id: null,
    user_agent: "two\nlines, quoted",
    caller: "key:one",
    dropped: null,
    note: null,
    dlp_action: null,
    authentication: true,
    feedback: null,
    score: null,
    metadata: '{"a":-1}',
  };

  it("quotes what has commas, quotes or lines, and lets no text be a formula", () => {
    const [head, ...rest] = csvOf([row]).split("\r\n");
    expect(head).toBe(
      "id,created_at,gateway,provider,model,path,status_code,success,cached,tokens_in,tokens_out,cost,caller,first_byte,duration,step,event_id,user_agent,metadata,dropped,note,dlp_action",
    );
    expect(rest.join("\r\n")).toBe(
      `01M8,2026-11-27T12:00:00.000Z,default,openai,"'=HYPERLINK(""x"")",chat/completions,200,true,false,1,,0.25,key:one,3,12,0,,"two\nlines, quoted","{""a"":-1}",,,\r\n`,
    );
    expect(csvOf([{ ...row, model: "-cmd", cost: -1 }])).toContain(",'-cmd,");
  });
});
