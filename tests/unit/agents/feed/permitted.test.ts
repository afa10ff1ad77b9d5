import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import type { Authenticate } from "../../../../core/auth/authorize.ts";
import { whilePermitted } from "../../../../core/auth/while-permitted.ts";
import { ApiError } from "../../../../core/http/api-error.ts";
import type { Platform, System } from "../../../../core/ports.ts";

let platform: Platform;
let later = 0;
let isRevoked = false;

const auth: Authenticate = (request) => {
  if (isRevoked || request.headers.get("authorization") !== "Bearer reader")
    return Promise.resolve(null);
  const grants = [{ permissions: ["Agents Read"] as const, accounts: ["local"] }];
  return Promise.resolve({ id: "reader", kind: "token", grants });
};

beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform.close());

describe("a stream of an agent's events", () => {
  it("ends with its token", async () => {
    const { system: real } = platform;
    const monotonic = (): number => real.monotonic() + later;
    const system: System = Object.assign(Object.create(real) as System, { monotonic });
    const app = agents({ platform: { ...platform, system }, auth });
    const headers = { authorization: "Bearer reader" };
    const request = new Request("http://x/webhook-agent/streamed/events", { headers });
    const response = await app.fetch(request);
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain("retry: ");
    isRevoked = true;
    later = 10_000;
    expect(await reader?.read()).toMatchObject({ done: true });
  });
});

describe("whilePermitted()", () => {
  async function* numbers(): AsyncGenerator<number> {
    for (let at = 0; at < 6; at++) {
      now += 4000;
      yield at;
    }
  }
  let now = 0;
  let looks = 0;
  const passed = async (review: () => unknown): Promise<number[]> => {
    const items: number[] = [];
    looks = 0;
    const asked = async (): Promise<void> => {
      looks += 1;
      await review();
    };
    for await (const item of whilePermitted(numbers(), asked, { monotonic: () => now }))
      items.push(item);
    return items;
  };

  it("looks a caller up every ten seconds, and ends with a refusal", async () => {
    expect(await passed(() => undefined)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(looks).toBe(2);
    const refuse = (): never => {
      throw new ApiError("forbidden");
    };
    expect(await passed(refuse)).toEqual([0, 1]);
  });

  it("breaks when the look fails", async () => {
    const fail = (): never => {
      throw new Error("no database");
    };
    await expect(passed(fail)).rejects.toThrow("no database");
  });
});
