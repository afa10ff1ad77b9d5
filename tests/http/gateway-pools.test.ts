import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { parseConfig } from "../../core/config/parse-config.ts";
import { root } from "../config/shared.ts";

const url = inject("baseUrl");
const headers = { authorization: `Bearer ${inject("token")}`, "content-type": "application/json" };
const ask = (path: string, model: string, gateway: string = "guarded"): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...headers, "cf-aig-gateway-id": gateway },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello pool" }] }),
  });

describe("names of the operator's for models", () => {
  it.each([
    "/v1/chat/completions",
    `/v1/${inject("accountId")}/guarded/compat/chat/completions`,
    `/client/v4/accounts/${inject("accountId")}/ai/v1/chat/completions`,
  ])("answer on %s, by the spare where the first target cannot be reached", async (path) => {
    const answer = await ask(path, "with-spare");
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining("Hello pool"),
    ]);
    expect(answer.headers.get("cf-aig-provider")).toBe("echo");
  });

  it("are those of one gateway", async () => {
    const answer = await ask("/v1/chat/completions", "with-spare", "open");
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("2019")]);
  });

  it("are listed", async () => {
    const answer = await fetch(`${url}/v1/models`, {
      headers: { ...headers, "cf-aig-gateway-id": "guarded" },
    });
    expect(await answer.text()).toContain('"with-spare"');
  });

  it("can be written as the page shows", () => {
    const page = readFileSync(join(root, "docs/gateway/models.md"), "utf8");
    const file = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const models = parseConfig(file, () => "sk-secret-for-tests").gateway?.gateways?.["default"];
    expect(Object.keys(models?.models ?? {})).toEqual(["small", "large"]);
  });
});
