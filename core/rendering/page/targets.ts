import { ApiError } from "../../http/api-error.ts";
import type { Cdp, CdpEvent } from "../cdp/cdp.ts";

/** A target of the page's browser context: the page itself, a frame in another process, a worker. */
export interface Target {
  readonly session: string;
  readonly id: string;
  readonly type: string;
}

/** The callbacks for the targets of one browser context. */
export interface TargetHooks {
  /** Sets up a frame or page before its first request; a failure keeps it from running at all. */
  readonly setUp: (target: Target) => Promise<unknown>;
  /** The page that everything is about: the first one. `ready` settles when it is set up and runs. */
  readonly onMain: (target: Target, ready: Promise<unknown>) => void;
}

const autoAttach = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };

/**
 * Attaches to every target that comes to be in a browser context and holds it until its requests are
 * intercepted. Popups are closed; workers have no `Fetch` domain of their own in some versions, so what they
 * load is left to the egress guard.
 */
export async function followTargets(cdp: Cdp, context: string, hooks: TargetHooks): Promise<void> {
  let main: string | null = null;
  cdp.on((event) => {
    if (event.method !== "Target.attachedToTarget") return;
    const info = event.params["targetInfo"] as {
      targetId: string;
      type: string;
      browserContextId?: string;
    };
    const target = {
      session: String(event.params["sessionId"]),
      id: info.targetId,
      type: info.type,
    };
    // A browser may serve several connections: each sees the targets of all of them.
    if (info.browserContextId !== context) return leave(cdp, target);
    // A frame that cannot be intercepted stays held; the timers end the wait for it.
    if (target.type !== "page") return quietly(admit(cdp, target, hooks));
    if (main !== null) return quietly(cdp.call("Target.closeTarget", { targetId: target.id }));
    main = target.id;
    hooks.onMain(target, admit(cdp, target, hooks));
  });
  await cdp.call("Target.setAutoAttach", autoAttach);
}

/** Whether an event says that a page or frame died. */
export function isCrash(event: CdpEvent): boolean {
  return event.method === "Inspector.targetCrashed" || event.method === "Target.targetCrashed";
}

/** The failure for a dead page. */
export function crashFailure(): ApiError {
  return new ApiError("page_crashed");
}

async function admit(cdp: Cdp, target: Target, hooks: TargetHooks): Promise<void> {
  const { session } = target;
  const isFrame = target.type === "page" || target.type === "iframe";
  await Promise.all([
    hooks.setUp(target).catch((error: unknown) => {
      if (isFrame) throw error;
    }),
    cdp.call("Target.setAutoAttach", autoAttach, session).catch(() => undefined),
  ]);
  await cdp.call("Runtime.runIfWaitingForDebugger", {}, session);
}

function leave(cdp: Cdp, target: Target): void {
  quietly(cdp.call("Runtime.runIfWaitingForDebugger", {}, target.session));
  quietly(cdp.call("Target.detachFromTarget", { sessionId: target.session }));
}

/** Ignores a call's failure: the target may be gone before the call arrives. */
function quietly(call: Promise<unknown>): void {
  call.catch(() => undefined);
}
