import { expect } from "vitest";
import type { Browser, Wire } from "../../core/ports.ts";
import { eventually } from "./eventually.ts";
import type { Suite } from "./suite.ts";

interface Reply {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** Sends commands over a wire and waits for their replies. */
function commander(
  wire: Wire,
): (method: string, params?: unknown, sessionId?: string) => Promise<Record<string, unknown>> {
  const waiting = new Map<number, (reply: Reply) => void>();
  let last = 0;
  wire.onMessage((text) => {
    const reply = JSON.parse(text) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
  });
  return async (method, params = {}, sessionId) => {
    last += 1;
    const id = last;
    const replied = new Promise<Reply>((resolve) => {
      waiting.set(id, resolve);
    });
    wire.send(
      JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }),
    );
    const { result, error } = await replied;
    expect(error).toBeUndefined();
    return result ?? {};
  };
}

const closed = (wire: Wire): Promise<string> =>
  new Promise((resolve) => {
    wire.onClose(resolve);
  });

/** What every `Browser` shows. */
export const wireSuite: Suite<Browser> = {
  port: "Browser",
  needs: "browser",
  cases: [
    {
      name: "connect() gives a DevTools connection, several at a time",
      async run(browser) {
        const [one, two] = await Promise.all([browser.connect(), browser.connect()]);
        const versions = await Promise.all(
          [one, two].map((wire) => commander(wire)("Browser.getVersion")),
        );
        for (const version of versions) expect(String(version["product"])).toMatch(/chrome/iu);
        one.close();
        expect(await commander(two)("Browser.getVersion")).toHaveProperty("product");
        two.close();
      },
    },
    {
      name: "messages far above 1 MiB go both ways whole",
      async run(browser) {
        const wire = await browser.connect();
        const send = commander(wire);
        const { targetId } = await send("Target.createTarget", { url: "about:blank" });
        const attached = await send("Target.attachToTarget", { targetId, flatten: true });
        const expression = `"${"é".repeat(2_000_000)}".length + "-" + "x".repeat(5000000)`;
        const { result } = await send(
          "Runtime.evaluate",
          { expression },
          String(attached["sessionId"]),
        );
        const { value } = result as { readonly value: string };
        expect([value.length, value.slice(0, 9)]).toEqual([5_000_008, "2000000-x"]);
        await send("Target.closeTarget", { targetId });
        wire.close();
      },
    },
    {
      name: "a message in parts arrives whole, and in its order among others",
      async run(browser) {
        const wire = await browser.connect();
        const heard: string[] = [];
        wire.onMessage((message) => heard.push(message));
        const parts = function* (): Generator<string> {
          yield '{"id":1,"method":"Browser.getVersion","params":{"unknown":"';
          for (let part = 0; part < 20; part++) yield "é".repeat(100_000);
          yield '"}}';
        };
        wire.send(parts());
        wire.send(JSON.stringify({ id: 2, method: "Browser.getVersion" }));
        await eventually(() => heard.length === 2, "both were answered");
        expect(heard.map((message) => /^\{"id":\d,"result":\{/u.exec(message)?.[0])).toEqual([
          '{"id":1,"result":{',
          '{"id":2,"result":{',
        ]);
        wire.close();
      },
    },
    {
      name: "close() is final and reported once",
      async run(browser) {
        const wire = await browser.connect();
        let times = 0;
        wire.onClose(() => {
          times += 1;
        });
        const over = closed(wire);
        wire.close();
        wire.close();
        await over;
        expect(times).toBe(1);
      },
    },
    {
      name: "a browser that crashes is noticed, and the next connect() gets a new one",
      async run(browser) {
        const wire = await browser.connect();
        const over = closed(wire);
        wire.send(JSON.stringify({ id: 1, method: "Browser.crash" }));
        expect(await over).toEqual(expect.any(String));
        const next = await browser.connect();
        expect(await commander(next)("Browser.getVersion")).toHaveProperty("product");
        next.close();
      },
    },
    {
      name: "an aborted connect() rejects with the signal's reason",
      async run(browser) {
        const reason = new Error("enough");
        await expect(browser.connect({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      },
    },
  ],
};
