import { expect, it } from "vitest";
import { type Routable, routerSessions } from "../../../../core/gateway/routing/router/sessions.ts";
import type { System } from "../../../../core/ports.ts";

it("a session's prompt counts as cached by its provider for five minutes after it was served", async () => {
  let now = 0;
  const system: Partial<System> = { now: () => now, monotonic: () => now };
  const sessions = routerSessions({ candidates: [] }, system as System);
  // What the sessions read of a request.
  const request = {
    call: { name: { account: "acme", gateway: "g" } },
    controls: { sessionId: "s", turnId: "1" },
    format: "chat",
    body: {},
  } as unknown as Routable;
  const warmth = async (): Promise<boolean> => (await sessions.of(request)).isWarm;
  expect(await warmth()).toBe(false);
  (await sessions.of(request)).keep("openai/a");
  now = 299_999;
  expect(await warmth()).toBe(true);
  now = 300_000;
  expect(await warmth()).toBe(false);
  expect((await sessions.of(request)).model).toBe("openai/a");
});
