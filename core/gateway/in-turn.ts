import { ApiError } from "../http/api-error.ts";
import type { Call, GatewayDeps } from "./call.ts";
import { isVerdict } from "./checkers/inspect.ts";
import { dropBody } from "./drop-body.ts";
import type { Forwarded } from "./forward.ts";

/** Asks one of several that can answer; `isLast` = nobody else can take over. */
export type AskOne<T> = (one: T, index: number, isLast: boolean) => Promise<Forwarded>;

/** Asks one after the other until one succeeds; when none does, the last one's answer is the answer. */
export async function inTurn<T>(
  all: readonly T[],
  ask: AskOne<T>,
  call: Call,
  deps: GatewayDeps,
): Promise<Forwarded> {
  for (const [index, one] of all.entries()) {
    const isLast = index === all.length - 1;
    const forwarded = await tried(() => ask(one, index, isLast), isLast, call);
    if (forwarded === null) continue;
    if (isLast || !forwarded.failed) return forwarded;
    dropBody(forwarded.reply, deps.platform.system);
  }
  throw new ApiError("provider_failed", { status: deps.failureStatus });
}

/** Null when there is no answer and another one may take over. */
async function tried(
  ask: () => Promise<Forwarded>,
  isLast: boolean,
  { signal }: Call,
): Promise<Forwarded | null> {
  try {
    return await ask();
  } catch (error) {
    if (isLast || signal.aborted || !(error instanceof ApiError)) throw error;
    // Another provider must not get what a check held back.
    if (isVerdict(error)) throw error;
    return null;
  }
}
