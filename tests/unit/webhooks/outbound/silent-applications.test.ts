import { expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { OutboundRequest, Transport } from "../../../../core/ports.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";

it("customers whose endpoints are silent hold up nobody else's deliveries, however many they are", async () => {
  const platform = await openPlatform();
  const over = Promise.withResolvers<void>();
  const sent = { silent: 0, own: 0 };
  const egress: Transport = {
    async send({ url }: OutboundRequest) {
      if (url === "https://own.test/") sent.own++;
      else {
        sent.silent++;
        await over.promise;
      }
      return { status: 200, headers: [], body: null };
    },
  };
  const app = webhooksManagement({ platform: { ...platform, egress }, auth: "off", sources: {} });
  const post = async (path: string, body: unknown): Promise<void> => {
    const url = `http://causey.test/accounts/seller/webhooks${path}`;
    const init = { method: "POST", body: JSON.stringify(body) };
    const answer = await app.fetch(new Request(url, init));
    expect([path, answer.status < 300]).toEqual([path, true]);
    await answer.body?.cancel();
  };
  await post("/endpoints", { url: "https://own.test/" });
  // More than there are places for alarms of one kind.
  const customers = Array.from({ length: 300 }, (_, n) => `/applications/c${n}`);
  for (const [n, base] of customers.entries()) {
    await post("/applications", { id: `c${n}` });
    await post(`${base}/endpoints`, { url: `https://silent.test/${n}` });
    // More than an endpoint that has not answered yet gets at a time: the others wait, and are due.
    const messages = Array.from({ length: 5 }, (_, payload) => ({ type: "x", payload }));
    await Promise.all(messages.map((message) => post(`${base}/send`, message)));
  }
  while (sent.silent < customers.length) await platform.system.sleep(5);
  await post("/send", { type: "x", payload: 1 });
  while (sent.own === 0) await platform.system.sleep(5);
  over.resolve();
  await platform.close();
});

it("an ordered endpoint that answers late gets its next delivery at once, and later ones too", async () => {
  const platform = await openPlatform();
  const answers: (() => void)[] = [];
  const egress: Transport = {
    async send() {
      await new Promise<void>((resolve) => answers.push(resolve));
      return { status: 200, headers: [], body: null };
    },
  };
  const app = webhooksManagement({ platform: { ...platform, egress }, auth: "off", sources: {} });
  const base = "http://causey.test/accounts/late/webhooks";
  const post = async (path: string, body: unknown): Promise<void> => {
    const init = { method: "POST", body: JSON.stringify(body) };
    await (await app.fetch(new Request(`${base}${path}`, init))).body?.cancel();
  };
  await post("/endpoints", { url: "https://late.test/", ordered: true });
  for (let n = 0; n < 3; n++) await post("/send", { type: "x", payload: n, entity: "one" });
  // Longer than an alarm waits for an answer when nothing else is to be sent.
  const began = platform.system.monotonic();
  for (let n = 1; n <= 3; n++) {
    while (answers.length < n) await platform.system.sleep(5);
    await platform.system.sleep(1200);
    answers.at(-1)?.();
  }
  // The lease of a delivery, after which it would be tried anyhow, is a minute.
  expect(platform.system.monotonic() - began).toBeLessThan(55_000);
  await platform.close();
});
