import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  account_id,
  ai,
  base,
  calls,
  gateway_id,
  inAccount,
  makeLog,
  methodsOf,
  settings,
  token,
} from "./gateway-management-calls.ts";

beforeAll(async () => {
  await ai.create({ ...inAccount, ...settings, id: gateway_id });
});
afterAll(async () => {
  await ai.delete(gateway_id, inAccount);
});

describe("cloudflare: aiGateway", () => {
  it("has no method that is not called here", () => {
    expect(Object.keys(calls).toSorted()).toEqual(methodsOf(ai));
  });

  it.each(Object.entries(calls))("%s", async (_, call) => {
    await call();
  });

  it("shows the log live to whoever follows its tail", async () => {
    const path = `/client/v4/accounts/${account_id}/ai-gateway/gateways/${gateway_id}/logs/tail`;
    const leaving = new AbortController();
    const response = await fetch(base + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? "";
    expect(text).toMatch(/^event: following\nid: \d+\n/);
    const { id } = await makeLog();
    while (!text.includes(`"id":"${id}"`)) text += (await reader.read()).value ?? "";
    leaving.abort();
  });

  it("keeps a stored key from a provider that the caller brings a key for", async () => {
    await ai.providerConfigs.create(gateway_id, {
      ...inAccount,
      alias: "default",
      default_config: true,
      provider_slug: "groq",
      secret: "sk-stored-0123456789abcdef",
    });
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${base}/v1/${account_id}/${gateway_id}/groq/chat/completions`, {
        method: "POST",
        headers: {
          "cf-aig-authorization": `Bearer ${token}`,
          "content-type": "application/json",
          "x-test-mode": "mirror",
          ...headers,
        },
        body: JSON.stringify({ model: "m", messages: [] }),
      });
      return ((await response.json()) as { headers: Record<string, string> }).headers[
        "authorization"
      ];
    };
    expect(String(await ask({}))).toBe("Bearer sk-stored-0123456789abcdef");
    expect(String(await ask({ authorization: "Bearer sk-mine" }))).toBe("Bearer sk-mine");
  });
});
