import { ApiError } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { Call } from "./call.ts";
import { isVerdict } from "./checks.ts";
import { dropBody } from "../wire/reply-body.ts";
import type { Forwarded } from "./forwarded.ts";

/** Asks one of several candidates. */
export type AskOne<T> = (one: T, index: number) => Promise<Forwarded>;

/** Dependencies of {@link askInOrder}. */
export interface FallbackParts {
  readonly system: System;
  /** Makes the error for a request without any candidate. */
  readonly none: () => ApiError;
}

/**
 * Asks the candidates in order until one succeeds (fallback). When all fail, the last one's answer or error counts. A
 * request that a check held back is sent to no further candidate.
 */
export async function askInOrder<T>(
  all: Iterable<T> | AsyncIterable<T>,
  ask: AskOne<T>,
  { signal }: Call,
  { system, none }: FallbackParts,
): Promise<Forwarded> {
  let index = 0;
  let failed: Forwarded | null = null;
  let problem: ApiError | null = null;
  // A failed answer that another candidate makes good is not read.
  const forget = (): void => {
    if (failed !== null) dropBody(failed.reply, system);
    [failed, problem] = [null, null];
  };
  try {
    for await (const one of all) {
      forget();
      try {
        failed = await ask(one, index++);
        if (!failed.failed) return failed;
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
