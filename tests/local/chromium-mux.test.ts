import { expect, it } from "vitest";
import { muxConnections } from "../../adapters/shared/chromium/chromium-mux.ts";
import type { Wire } from "../../core/ports.ts";

interface Sent {
  readonly id: number;
  readonly method: string;
  readonly params?: Record<string, unknown>;
  readonly sessionId?: string;
}

/** A browser that gives sessions and contexts numbers; whatever else is asked it answers with nothing. */
function playedBrowser() {
  const sent: Sent[] = [];
  let say: (message: object) => void = () => undefined;
  let made = 0;
  const mux = muxConnections({
    send: (message) => {
      if (typeof message !== "string") return;
      const call = JSON.parse(message) as Sent;
      sent.push(call);
      const session = call.sessionId === undefined ? {} : { sessionId: call.sessionId };
      if (call.method === "Target.attachToBrowserTarget") {
        const sessionId = `link-${++made}`;
        const targetInfo = { targetId: "B", type: "browser" };
        say({ method: "Target.attachedToTarget", params: { sessionId, targetInfo } });
        say({ id: call.id, result: { sessionId } });
      } else if (call.method === "Target.createBrowserContext")
        say({
          id: call.id,
          result: { browserContextId: `context-of-${call.sessionId}` },
          ...session,
        });
      else say({ id: call.id, result: {}, ...session });
    },
    onMessage: (listener) => {
      say = (message) => listener(JSON.stringify(message));
    },
    onExit: () => undefined,
    kill: () => Promise.resolve(),
  });
  const listening = async (): Promise<{ readonly wire: Wire; readonly heard: Sent[] }> => {
    const wire = await mux.connect();
    const heard: Sent[] = [];
    wire.onMessage((message) => heard.push(JSON.parse(message)));
    wire.send(JSON.stringify({ id: 1, method: "Target.createBrowserContext" }));
    wire.send(JSON.stringify({ id: 2, method: "Target.setAutoAttach", params: { flatten: true } }));
    await Promise.resolve();
    return { wire, heard };
  };
  const appears = (sessionId: string, browserContextId: string): void =>
    say({
      method: "Target.attachedToTarget",
      params: { sessionId, targetInfo: { targetId: "T", type: "page", browserContextId } },
    });
  return { sent, listening, appears, say: (message: object) => say(message) };
}

const methods = (messages: readonly Sent[]): string[] => messages.map(({ method }) => method);

it("the browser attaches to each target once, and its connection alone hears of it", async () => {
  const { sent, listening, appears } = playedBrowser();
  const first = await listening();
  const second = await listening();
  expect(methods(sent).filter((method) => method === "Target.setAutoAttach")).toHaveLength(1);
  for (const { heard } of [first, second])
    expect(heard).toEqual([
      { id: 1, result: { browserContextId: expect.any(String) } },
      { id: 2, result: {} },
    ]);
  appears("page-1", "context-of-link-1");
  appears("page-2", "context-of-link-2");
  expect(first.heard.slice(2)).toMatchObject([{ params: { sessionId: "page-1" } }]);
  expect(second.heard.slice(2)).toMatchObject([{ params: { sessionId: "page-2" } }]);
});

it("events of a target, and its end, go to its connection", async () => {
  const { listening, appears, say } = playedBrowser();
  const first = await listening();
  const second = await listening();
  appears("page-2", "context-of-link-2");
  say({ method: "Page.loadEventFired", params: {}, sessionId: "page-2" });
  say({ method: "Target.detachedFromTarget", params: { sessionId: "page-2" } });
  say({ method: "Page.loadEventFired", params: {}, sessionId: "page-2" });
  expect(methods(second.heard.slice(2))).toEqual([
    "Target.attachedToTarget",
    "Page.loadEventFired",
    "Target.detachedFromTarget",
  ]);
  expect(first.heard).toHaveLength(2);
});

it("targets that are nobody's, or whose connection is closed, are let go", async () => {
  const { sent, listening, appears } = playedBrowser();
  const { wire, heard } = await listening();
  appears("stray", "default");
  wire.close();
  appears("late", "context-of-link-1");
  expect(heard).toHaveLength(2);
  const left = sent.filter(({ method }) => method === "Target.detachFromTarget");
  expect(left.map(({ params }) => params?.["sessionId"])).toEqual(["stray", "link-1", "late"]);
  const resumed = sent.filter(({ method }) => method === "Runtime.runIfWaitingForDebugger");
  expect(resumed.map(({ sessionId }) => sessionId)).toEqual(["stray", "late"]);
});
