import { ApiError } from "../../http/api-error.ts";
import type { Call, GatewayDeps } from "./call.ts";
import { isVerdict } from "../guard/checkers/inspect.ts";
import { dropBody } from "../wire/drop-body.ts";
import type { Forwarded } from "./forward.ts";

/** Asks one of several candidates; `isLast` = no other can take over. */
export type AskOne<T> = (one: T, index: number, isLast: boolean) => Promise<Forwarded>;

/** Asks the candidates in order until one succeeds. When none does, the last one's answer counts (fallback). */
export async function askInOrder<T>(
  all: readonly T[],
  ask: AskOne<T>,
  call: Call,
  deps: GatewayDeps,
): Promise<Forwarded> {
  for (const [index, one] of all.entries()) {
    const isLast = index === all.length - 1;
    const forwarded = await attemptOne(() => ask(one, index, isLast), isLast, call);
    if (forwarded === null) continue;
    if (isLast || !forwarded.failed) return forwarded;
    dropBody(forwarded.reply, deps.platform.system);
  }
  throw new ApiError("provider_failed", { status: deps.failureStatus });
}

/** Null when there is no answer and the next candidate may take over. */
async function attemptOne(
  ask: () => Promise<Forwarded>,
  isLast: boolean,
  { signal }: Call,
): Promise<Forwarded | null> {
  try {
    return await ask();
  } catch (error) {
    if (isLast || signal.aborted || !(error instanceof ApiError)) throw error;
    // What a check held back must not be sent to another provider.
    if (isVerdict(error)) throw error;
    return null;
  }
}
