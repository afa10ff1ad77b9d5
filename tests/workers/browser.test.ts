import { afterEach, beforeEach, expect, test } from "vitest";
import { openPlatform } from "#platform";
import type { Platform, Wire } from "../../core/ports.ts";

interface Reply {
  readonly id?: number;
  readonly sessionId?: string;
  readonly result: Readonly<Record<string, unknown>>;
}

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

function caller(
  wire: Wire,
): (method: string, params?: object, sessionId?: string) => Promise<Reply["result"]> {
  const waiting = new Map<number, (reply: Reply) => void>();
  let last = 0;
  wire.onMessage((message) => {
    const reply = JSON.parse(message) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
  });
  return async (method, params = {}, sessionId) => {
    last += 1;
    const id = last;
    const reply = new Promise<Reply>((resolve) => waiting.set(id, resolve));
    wire.send(JSON.stringify({ id, method, params, sessionId }));
    return (await reply).result;
  };
}

test("the browser binding carries DevTools messages of 3 MiB", async () => {
  const wire = await platform.browser.connect();
  const call = caller(wire);
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const evaluated = await call(
    "Runtime.evaluate",
    { expression: "'x'.repeat(3 * 1024 * 1024)", returnByValue: true },
    String(sessionId),
  );
  expect((evaluated["result"] as { readonly value: string }).value.length).toBe(3 * 1024 * 1024);
  wire.close();
});

test("a closed connection says so once, at once, and takes no more", async () => {
  const wire = await platform.browser.connect();
  const reasons: string[] = [];
  wire.onClose((reason) => reasons.push(reason));
  wire.close();
  wire.close();
  wire.send("{}");
  expect(reasons).toEqual(["Closed"]);
});

test("an aborted signal ends connect()", async () => {
  await expect(platform.browser.connect({ signal: AbortSignal.abort() })).rejects.toThrow(
    /abort/iu,
  );
});

test("egress reaches no private address, whatever name it hides behind", async () => {
  const send = (url: string): Promise<unknown> =>
    platform.egress.send({ method: "GET", url, headers: [] }).catch((error: unknown) => error);
  for (const host of [
    "127.0.0.1",
    "0x7f.1",
    "[::ffff:127.0.0.1]",
    "localhost.",
    "169.254.169.254",
    "a.internal",
  ]) {
    expect(await send(`http://${host}:9/`)).toMatchObject({
      name: "TransportError",
      reason: "refused",
    });
  }
});
