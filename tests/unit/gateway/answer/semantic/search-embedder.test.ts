import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { platformApi } from "../../../../../core/api.ts";
import type { PlatformApiOptions } from "../../../../../core/config/platform-api-options.ts";
import { fakeTransport, jsonReply } from "../../../../fakes/gateway-transport.ts";

const asked: (readonly [string, string])[] = [];
const embedder: NonNullable<NonNullable<PlatformApiOptions["search"]>["embedder"]> = {
  model: "test",
  dimensions: 2,
  embed(texts, purpose) {
    asked.push(...texts.map((text) => [text, purpose] as const));
    return Promise.resolve(texts.map(() => Float32Array.of(1, 0)));
  },
};

/** Cache status and likeness of answers to texts, one after the other. */
async function answers(
  texts: readonly string[],
  options: Pick<PlatformApiOptions, "gateway" | "search">,
): Promise<string[]> {
  const real = await openPlatform();
  const transport = fakeTransport(() => jsonReply({ ok: true }));
  const gateways = { open: { authentication: false } };
  const gateway = { gateways, ...options.gateway };
  const api = platformApi({ ...options, platform: { ...real, transport }, gateway });
  const found: string[] = [];
  for (const content of texts) {
    const response = await api.request("/v1/local/open/openai/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json", "cf-aig-cache-ttl": "60" },
      body: JSON.stringify({ messages: [{ role: "user", content }] }),
    });
    await response.text();
    const { headers } = response;
    found.push(`${headers.get("cf-aig-cache-status")} ${headers.get("cf-aig-cache-similarity")}`);
  }
  await real.close();
  return found;
}

const texts = [
  "Which laptop is lightest?",
  "Which notebook is lightest?",
  "What laptop is the lightest",
];

it("platformApi() asks the search part's embedder for the vectors of questions", async () => {
  const found = await answers(texts, { gateway: { semanticCache: {} }, search: { embedder } });
  expect(found).toEqual(["MISS null", "HIT 1.0000", "HIT 1.0000"]);
  expect(asked).toEqual(texts.map((text) => [text, "query"]));
});

it("platformApi() refuses a semantic cache without an embedding model", async () => {
  await expect(answers(texts, { gateway: { semanticCache: {} } })).rejects.toThrow(
    "gateway.semanticCache: expected an embedding model",
  );
});

it("platformApi() asks nobody unless the semantic cache is configured", async () => {
  asked.length = 0;
  const found = await answers(texts, { search: { embedder } });
  expect([found, asked]).toEqual([["MISS null", "MISS null", "MISS null"], []]);
});
