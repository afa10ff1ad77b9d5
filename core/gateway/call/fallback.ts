import { ApiError } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { Call } from "./call.ts";
import { isVerdict } from "./checks.ts";
import { dropBody } from "../wire/reply-body.ts";
import type { Forwarded } from "./forwarded.ts";

/** Asks one of several candidates; `isLast` = no other can take over. */
export type AskOne<T> = (one: T, index: number, isLast: boolean) => Promise<Forwarded>;

export interface FallbackParts {
  readonly system: System;
  /** The status of error 2005. */
  readonly failureStatus: 502 | 400;
}

/** Asks the candidates in order until one succeeds. When none does, the last one's answer counts (fallback). */
export async function askInOrder<T>(
  all: readonly T[],
  ask: AskOne<T>,
  call: Call,
  { system, failureStatus }: FallbackParts,
): Promise<Forwarded> {
  for (const [index, one] of all.entries()) {
    const isLast = index === all.length - 1;
    const forwarded = await attemptOne(() => ask(one, index, isLast), isLast, call);
    if (forwarded === null) continue;
    if (isLast || !forwarded.failed) return forwarded;
    dropBody(forwarded.reply, system);
  }
  throw new ApiError("provider_failed", { status: failureStatus });
}

/** Asks one candidate; resolves to null when it gave no answer and the next one may take over. */
async function attemptOne(
  ask: () => Promise<Forwarded>,
  isLast: boolean,
  { signal }: Call,
): Promise<Forwarded | null> {
  try {
    return await ask();
  } catch (error) {
    if (isLast || signal.aborted || !(error instanceof ApiError)) throw error;
    // A request that a check held back must not be sent to another provider.
    if (isVerdict(error)) throw error;
    return null;
  }
}
