import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");
const management = `${base}/client/v4/accounts/${account}/ai-gateway/gateways`;
const json = { authorization: `Bearer ${token}`, "content-type": "application/json" };

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${management}${path}`, { method: "POST", headers: json, body: JSON.stringify(body) });

async function makeGateway(more: object = {}): Promise<string> {
  const id = `h-${randomUUID().slice(0, 8)}`;
  const settings = {
    authentication: true,
    cache_invalidate_on_update: false,
    cache_ttl: null,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
  };
  expect((await post("", { id, ...settings, ...more })).status).toBe(200);
  return id;
}

/** A route of one model. */
const route = (model: string): object => ({
  name: "only",
  elements: [
    { id: "start", type: "start", outputs: { next: { elementId: "m" } } },
    {
      id: "m",
      type: "model",
      properties: { provider: "openai", model, retries: 0, timeout: 0 },
      outputs: { success: { elementId: "end" }, fallback: { elementId: "end" } },
    },
    { id: "end", type: "end", outputs: {} },
  ],
});

function ask(gateway: string, model: string, stream = false): Promise<Response> {
  return fetch(`${base}/v1/${account}/${gateway}/compat/chat/completions`, {
    method: "POST",
    headers: { ...json, "x-test-mode": stream ? "sse" : "json" },
    body: JSON.stringify({ model, stream, messages: [{ role: "user", content: "hi" }] }),
  });
}

/** The newest log row of a gateway, once there is one. */
async function rowOf(gateway: string): Promise<Record<string, unknown>> {
  for (;;) {
    const answer = await fetch(`${management}/${gateway}/logs`, { headers: json });
    const { result } = (await answer.json()) as { result: Record<string, unknown>[] };
    if (result[0] !== undefined) return result[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The newest log row of a gateway, with the beginning of its bodies. */
async function detailOf(gateway: string): Promise<Record<string, unknown>> {
  const { id } = await rowOf(gateway);
  const answer = await fetch(`${management}/${gateway}/logs/${String(id)}`, { headers: json });
  return ((await answer.json()) as { result: Record<string, unknown> }).result;
}

describe("a header of the gateway", () => {
  it.each([false, true])("holds the name of a model in any script (stream: %s)", async (stream) => {
    const gateway = await makeGateway();
    expect((await post(`/${gateway}/routes`, route("模型 100%"))).status).toBe(200);
    const answer = await ask(gateway, "dynamic/only", stream);
    const model = answer.headers.get("cf-aig-model");
    expect([answer.status, model]).toEqual([200, "%E6%A8%A1%E5%9E%8B 100%25"]);
    expect(decodeURIComponent(model ?? "")).toBe("模型 100%");
    expect(await answer.text()).toContain(stream ? "[DONE]" : "Hello from upstream");
    expect(await rowOf(gateway)).toMatchObject({ model: "模型 100%", success: true });
  });

  it("names the parameters that a model does not take, as its row does", async () => {
    const gateway = await makeGateway();
    const answer = await fetch(`${base}/v1/${account}/${gateway}/compat/chat/completions`, {
      method: "POST",
      headers: { ...json, "x-test-mode": "json" },
      body: JSON.stringify({
        model: "openai/o3",
        messages: [{ role: "user", content: "hi" }],
        temperature: 0.5,
        top_k: 3,
      }),
    });
    expect(await answer.text()).toContain("Hello from upstream");
    const named = ["cf-aig-dropped", "gw-aig-dropped"].map((name) => answer.headers.get(name));
    expect(named).toEqual(["temperature, top_k", "temperature, top_k"]);
    const { dropped, request_head: sent } = await detailOf(gateway);
    expect(dropped).toBe("temperature, top_k");
    expect(sent).not.toMatch(/temperature|top_k/);
  });

  it("brings what data loss prevention found, whatever its policy is called", async () => {
    const policies = Array.from({ length: 20 }, (_, index) => ({
      id: `${"規".repeat(120)}${index}`,
      enabled: true,
      action: "FLAG",
      check: ["REQUEST", "RESPONSE"],
      profiles: ["email", "pii"],
    }));
    const gateway = await makeGateway({ dlp: { enabled: true, policies } });
    const answer = await fetch(`${base}/v1/${account}/${gateway}/openai/chat/completions`, {
      method: "POST",
      headers: { "cf-aig-authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "a@example.org" }] }),
    });
    expect(answer.status).toBe(200);
    const report = JSON.parse(answer.headers.get("cf-aig-dlp") ?? "") as {
      findings: { policy_ids: string[] }[];
    };
    expect(report.findings[0]?.policy_ids).toEqual([`${"規".repeat(120)}0`]);
    await answer.text();
  });

  it("is not needed for names with control characters, which are refused where they are stored", async () => {
    const gateway = await makeGateway();
    const answer = await post(`/${gateway}/routes`, route("a\nb"));
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/properties\.model.*control characters/),
    ]);
  });
});
