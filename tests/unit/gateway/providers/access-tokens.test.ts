import { expect, it } from "vitest";
import { accessTokens } from "../../../../core/gateway/providers/clouds/access-tokens.ts";
import type { Transport } from "../../../../core/ports.ts";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { fakePlatform } from "../../../fakes/auth-platform.ts";

const secret = { tenantId: "tenant", clientId: "client", clientSecret: "secret" };

it("asks anew when a question has had no end in the time that it may take", async () => {
  // Timers of the fake never ring: a request that is cancelled on Workers takes its own with it.
  const clock = { now: 0 };
  const { system } = fakePlatform(clock);
  const kept: Promise<unknown>[] = [];
  let asked = 0;
  const transport: Transport = {
    send() {
      asked++;
      if (asked === 1) return new Promise<never>(() => undefined);
      const body = utf8(JSON.stringify({ access_token: "token", expires_in: 3600 }));
      return Promise.resolve({ status: 200, headers: [], body });
    },
  };
  const waitUntil = (work: Promise<unknown>): void => void kept.push(work);
  const tokenOf = accessTokens({ transport, system: { ...system, waitUntil } });
  void tokenOf(secret);
  clock.now = 19_999;
  void tokenOf(secret);
  await Promise.resolve();
  expect([asked, kept.length]).toEqual([1, 1]);
  clock.now = 20_000;
  expect(await tokenOf(secret)).toBe("token");
  expect(await tokenOf(secret)).toBe("token");
  expect(asked).toBe(2);
});
