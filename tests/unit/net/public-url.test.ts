import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { platformApi } from "../../../core/api.ts";
import { answerOrigin } from "../../../core/net/public-url.ts";

const origin = (url: string, configured?: string): string =>
  answerOrigin(new Request(url), configured);

it("an answer names the configured origin, or this machine's own, and never what a caller says", () => {
  expect(origin("http://forged.example/x")).toBe("");
  expect(origin("http://127.0.0.1.forged.example/x")).toBe("");
  expect(origin("http://192.168.1.5:8787/x")).toBe("");
  expect(origin("http://localhost:8787/x")).toBe("http://localhost:8787");
  expect(origin("http://[::1]:8787/x")).toBe("http://[::1]:8787");
  expect(origin("http://forged.example/x", "https://ai.example")).toBe("https://ai.example");
});

it("the address of a gateway is a path, and says why, for a caller with another Host", async () => {
  const path = "/client/v4/accounts/local/ai-gateway/gateways/default/url/openai";
  const told = async (url: string, publicUrl?: string): Promise<unknown> => {
    const platform = await openPlatform();
    const api = platformApi({ platform, auth: "off", ...(publicUrl && { publicUrl }) });
    const { result, messages } = (await (await api.request(`${url}${path}`)).json()) as {
      result: string;
      messages: { message: string }[];
    };
    await platform.close();
    return [result, messages.map(({ message }) => message)];
  };
  await expect(told("http://forged.example")).resolves.toEqual([
    "/v1/local/default/openai",
    [expect.stringContaining("publicUrl")],
  ]);
  await expect(told("http://forged.example", "https://ai.example")).resolves.toEqual([
    "https://ai.example/v1/local/default/openai",
    [],
  ]);
  await expect(told("http://forged.example", "https://ai.example/path")).rejects.toThrow(
    'publicUrl: expected scheme, host and port such as "https://ai.example.com"',
  );
});
