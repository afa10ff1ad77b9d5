import { ApiError } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { Call } from "./call.ts";
import { isVerdict } from "./checks.ts";
import { readOut } from "../wire/reply-body.ts";
import type { Forwarded } from "./forwarded.ts";

export type AskOne<T> = (one: T, index: number) => Promise<Forwarded>;

export interface FallbackParts {
  readonly system: System;
  /** Makes the error for a request without any candidate. */
  readonly none: () => ApiError;
  /** Whether a failed answer is the answer all the same: no candidate could make it good. @default no answer is */
  readonly isFinal?: (answer: Forwarded) => boolean;
}

/**
 * Asks the candidates in order until one succeeds (fallback). When all fail, the last one's answer or error counts. A
 * request that a check held back is sent to no further candidate.
 */
export async function askInOrder<T>(
  all: Iterable<T> | AsyncIterable<T>,
  ask: AskOne<T>,
  { signal }: Call,
  { system, none, isFinal = () => false }: FallbackParts,
): Promise<Forwarded> {
  let index = 0;
  let failed: Forwarded | null = null;
  let problem: ApiError | null = null;
  const forget = (): void => {
    if (failed !== null) system.waitUntil(readOut(failed.reply, system));
    [failed, problem] = [null, null];
  };
  try {
    for await (const one of all) {
      forget();
      try {
        failed = await ask(one, index++);
        if (!failed.failed || isFinal(failed)) return failed;
      } catch (error) {
        if (signal.aborted || !(error instanceof ApiError) || isVerdict(error)) throw error;
        problem = error;
      }
    }
  } catch (error) {
    forget();
    throw error;
  }
  if (failed === null) throw problem ?? none();
  return failed;
}
