import type { Wire } from "../../core/ports.ts";
import { wholeMessage } from "../../core/rendering/cdp/call-message.ts";

/** A call that arrived on a fake wire. */
export interface SeenCall {
  readonly id: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly sessionId?: string;
}

/** A browser that a test plays. */
export interface FakeWire {
  readonly wire: Wire;
  readonly calls: SeenCall[];
  readonly closed: boolean;
  /** Whether it was asked to have its browser replaced. */
  readonly killed: boolean;
  /** Delivers a message. */
  say(message: object): void;
  /** Ends the connection from the browser's side. */
  end(reason: string): void;
}

/** A wire whose other end answers calls by `script`; a call that it returns nothing for stays open. */
export function fakeWire(
  script: (call: SeenCall, say: (message: object) => void) => object | undefined,
): FakeWire {
  const calls: SeenCall[] = [];
  const messages: ((message: string) => void)[] = [];
  const closes: ((reason: string) => void)[] = [];
  let closed = false;
  let killed = false;
  const say = (message: object): void => {
    for (const listener of messages) listener(JSON.stringify(message));
  };
  const end = (reason: string): void => {
    if (closed) return;
    closed = true;
    for (const listener of closes) listener(reason);
  };
  return {
    calls,
    say,
    end,
    get closed() {
      return closed;
    },
    get killed() {
      return killed;
    },
    wire: {
      send(message) {
        if (closed) return;
        const call = JSON.parse(wholeMessage(message)) as SeenCall;
        calls.push(call);
        const answer = script(call, say);
        if (answer !== undefined) say({ id: call.id, ...answer });
      },
      onMessage: (listener) => void messages.push(listener),
      onClose: (listener) => void closes.push(listener),
      close: () => end("closed"),
      kill: () => {
        killed = true;
        end("killed");
      },
    },
  };
}

/** A browser that opens one page and answers everything else with nothing. */
export function openingBrowser(call: SeenCall, say: (message: object) => void): object | undefined {
  if (call.method === "Target.createBrowserContext") return { result: { browserContextId: "C" } };
  if (call.method === "Target.createTarget") {
    const targetInfo = { targetId: "T", type: "page", browserContextId: "C" };
    say({
      method: "Target.attachedToTarget",
      params: { sessionId: "S", targetInfo, waitingForDebugger: true },
    });
    return { result: { targetId: "T" } };
  }
  return { result: {} };
}
