import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { apiOptions } from "../../../core/config/api-options.ts";
import { parseConfig } from "../../../core/config/parse-config.ts";
import type { Platform } from "../../../core/ports.ts";
import { answerOf } from "../../fakes/search-api.ts";
import { gatewayModelsConfig } from "../../fakes/search-gateway-config.ts";
import { fakeTransport, jsonReply } from "../../fakes/gateway-transport.ts";

let platform: Platform;
afterEach(() => platform.close());

const TOKEN = "a-token-for-these-tests";
const config = {
  ...gatewayModelsConfig,
  search: {
    ...gatewayModelsConfig.search,
    embedder: { ...gatewayModelsConfig.search.embedder, dimensions: 2 },
  },
  tokens: [{ token: TOKEN, permissions: ["*"] }],
};
const env = (name: string): string | undefined =>
  name === "OPENAI_API_KEY" ? "key-of-openai" : undefined;

async function open(): Promise<{ api: PlatformApi; transport: ReturnType<typeof fakeTransport> }> {
  const transport = fakeTransport(({ url }) =>
    url.endsWith("/embeddings")
      ? jsonReply({ data: [{ index: 0, embedding: [1, 1] }] })
      : jsonReply({
          choices: [{ index: 0, message: { content: "Stripes." }, finish_reason: "stop" }],
          usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
        }),
  );
  platform = { ...(await openPlatform()), transport };
  return { api: platformApi(apiOptions(parseConfig(config, env), platform)), transport };
}

async function call(api: PlatformApi, path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${TOKEN}`);
  return api.fetch(
    new Request(`http://test/client/v4/accounts/local${path}`, { ...init, headers }),
  );
}
const json = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

describe("models behind a gateway of the same program", () => {
  it("are asked with its keys, and its log has them", async () => {
    const { api, transport } = await open();
    await (await call(api, "/ai-search/instances", json({ id: "main" }))).arrayBuffer();
    const form = new FormData();
    form.set("file", new File(["The zebra has stripes."], "a.md"));
    form.set("wait_for_completion", "true");
    const encoded = new Response(form);
    const uploaded = await call(api, "/ai-search/instances/main/items", {
      method: "POST",
      headers: { "content-type": encoded.headers.get("content-type") ?? "" },
      body: await encoded.arrayBuffer(),
    });
    expect((await answerOf(uploaded)).result.status).toBe("completed");
    const messages = [{ role: "user", content: "What does the zebra have?" }];
    const path = "/ai-search/instances/main/chat/completions";
    const answer = await answerOf(await call(api, path, json({ messages })));
    expect(answer.choices[0]!.message.content).toBe("Stripes.");
    expect(transport.requests.map(({ url }) => url)).toEqual([
      "https://api.openai.com/v1/embeddings",
      "https://api.openai.com/v1/embeddings",
      "https://api.openai.com/v1/chat/completions",
    ]);
    for (const { headers } of transport.requests)
      expect(headers).toContainEqual(["authorization", "Bearer key-of-openai"]);
    expect(JSON.parse(transport.bodies[0] ?? "")).toMatchObject({
      model: "text-embedding-3-small",
    });
    expect(JSON.parse(transport.bodies[2] ?? "")).toMatchObject({ model: "gpt-4o-mini" });
    let logged = "";
    while (!logged.includes("gpt-4o-mini") || !logged.includes("text-embedding-3-small")) {
      await platform.system.sleep(5);
      logged = await (await call(api, "/ai-gateway/gateways/main/logs", {})).text();
    }
  });

  it.each([
    [{ gateway: "main", model: "gpt" }, "expected {provider}/{model}"],
    [{ gateway: "main", model: "openai/gpt", apiKey: "k" }, "A gateway has keys of its own"],
    [{ model: "gpt" }, "expected baseUrl, or the id of a gateway"],
  ])("are refused as %j", async (chatModel, reason) => {
    platform = await openPlatform();
    expect(() => parseConfig({ search: { chatModel } }, env)).toThrow(reason);
  });
});
