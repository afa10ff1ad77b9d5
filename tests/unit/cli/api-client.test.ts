import { afterEach, expect, it, vi } from "vitest";
import { apiClient } from "../../../adapters/cli/api/api-client.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

it.each([
  ["2", 2000],
  ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
  ["", null],
  ["soon", null],
  [undefined, null],
])("a refusal with Retry-After %j waits %j ms", async (value, waitMs) => {
  vi.stubEnv("CAUSEY_TOKEN", "t".repeat(40));
  const headers = value === undefined ? {} : { "retry-after": value };
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 503, headers }));
  const { send } = apiClient({ url: "http://127.0.0.1:1" });
  await expect(send("/x")).rejects.toMatchObject({ status: 503, waitMs });
});
