import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { Platform } from "../../../../core/ports.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";

let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = webhooksManagement({ platform, auth: "off", sources: {} });
});
afterAll(() => platform.close());

describe("an endpoint", () => {
  it.each([
    "http://127.0.0.1/hook",
    "https://2130706433/hook",
    "http://[::ffff:10.0.0.1]/",
    "https://169.254.169.254/latest/meta-data",
    "http://localhost:8080/",
  ])("at %s is refused when it is made or changed, not at the first attempt", async (url) => {
    const call = async (method: string, path: string, body: unknown): Promise<[number, string]> => {
      const request = new Request(`http://causey.test/accounts/literals/webhooks${path}`, {
        method,
        body: JSON.stringify(body),
      });
      const response = await app.fetch(request);
      const { errors, result } = (await response.json()) as {
        errors: { message: string }[];
        result: { id: string } | null;
      };
      return [response.status, errors[0]?.message ?? result?.id ?? ""];
    };
    const [status, message] = await call("POST", "/endpoints", { url });
    expect([status, message]).toEqual([400, expect.stringMatching(/^url: The host ".+" is not/)]);
    const [made, id] = await call("POST", "/endpoints", { url: "https://receiver.example/" });
    expect(made).toBe(201);
    expect((await call("PATCH", `/endpoints/${id}`, { url }))[0]).toBe(400);
  });
});
