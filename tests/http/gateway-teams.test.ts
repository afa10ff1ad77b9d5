import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { parseConfig } from "../../core/config/parse-config.ts";
import { newKey } from "../../core/auth/token-format.ts";
import { eventually } from "../cases/eventually.ts";
import { root as clone } from "../config/shared.ts";

// The page that tells of teams, as it is written, against the served runtime.

const page = readFileSync(join(clone, "docs/gateway/teams.md"), "utf8");
const url = inject("baseUrl");
const root = `${url}/client/v4/accounts/${inject("accountId")}/ai-gateway`;
const headers = { authorization: `Bearer ${inject("token")}`, "content-type": "application/json" };
/** Servers outlive a file: a team of this run. */
const team = `t${Date.now().toString(36)}`;

/** Sends the request that a block of the page makes with curl. */
async function run(path: string): Promise<Record<string, unknown>> {
  const block = [...page.matchAll(/```sh\n(curl [\s\S]*?)```/g)].find(([, text = ""]) =>
    text.includes(`/ai-gateway/${path}`),
  )?.[1];
  const address = /accounts\/local\/ai-gateway(\/[^\s"]*)/.exec(block ?? "")?.[1] ?? "";
  const body = /-d '([\s\S]*?)'/.exec(block ?? "")?.[1]?.replaceAll('"research"', `"${team}"`);
  const init = body === undefined ? { headers } : { method: "POST", headers, body };
  const response = await fetch(`${root}${address}`, init);
  const answer = (await response.json()) as { result: Record<string, unknown>; errors: unknown };
  expect([response.status, answer.errors]).toEqual([200, []]);
  return answer.result;
}

describe("docs/gateway/teams.md", () => {
  it("makes a team and a key, which the report knows and the budget limits", async () => {
    expect(await run("teams")).toMatchObject({ id: team, limits: [{}, {}, { soft: true }] });
    const { key } = await run("virtual-keys");
    const send = async (path: string, method: string, body: object): Promise<number> =>
      (await fetch(`${root}${path}`, { method, headers, body: JSON.stringify(body) })).status;
    const price = { provider: "echo", model: team, input: 1, output: 1, source: "a test" };
    expect(await send("/prices", "PUT", price)).toBe(200);
    const ask = (): Promise<Response> =>
      fetch(`${url}/v1/${inject("accountId")}/default/echo/chat/completions`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${String(key)}` },
        body: JSON.stringify({ model: team, messages: [{ role: "user", content: "Hello" }] }),
      });
    const answer = await ask();
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Hello")]);
    await eventually(async () => {
      const rows = (await run("spend?"))["rows"] as { team: string }[];
      // The range of the page is a month of its own.
      const today = (await (await fetch(`${root}/spend?by=team`, { headers })).json()) as {
        result: { rows: { team: string }[] };
      };
      return Array.isArray(rows) && today.result.rows.some((row) => row.team === team);
    }, "the request in the report");
    const limits = [{ limitType: "cost", limit: 0, window: "month" }];
    expect(await send(`/teams/${team}`, "PATCH", { limits })).toBe(200);
    const refused = await ask();
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining(`the team \\"${team}\\" allows 0 USD per month`),
    ]);
  });

  it("shows a file that a server takes", () => {
    const file = /## In the configuration[\s\S]*?```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const secret = newKey((length) => crypto.getRandomValues(new Uint8Array(length)));
    expect(parseConfig(file, () => secret).gateway?.virtualKeys?.["ann"]).toMatchObject({
      team: "research",
    });
  });
});
