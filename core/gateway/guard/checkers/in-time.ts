import type { System } from "../../../ports.ts";
import type { Checker, CheckPhase, CheckResult } from "./checker.ts";
import { unavailable } from "./judge.ts";

/** Milliseconds that one check may take: a judge of a long text is asked several times. */
const CHECK_MS = 60_000;

/** The same checker, that rejects with `scanner_unavailable` when it takes too long: nobody waits for ever for a judge. */
export function inTime(checker: Checker, system: System): Checker {
  return {
    check(text, phase, signal, pause) {
      const late = new AbortController();
      const result = checker.check(text, phase, AbortSignal.any([signal, late.signal]), pause);
      return result instanceof Promise ? race(result, late, phase, system) : result;
    },
  };
}

async function race(
  result: Promise<CheckResult>,
  late: AbortController,
  phase: CheckPhase,
  system: System,
): Promise<CheckResult> {
  const over = new AbortController();
  const limit = system.sleep(CHECK_MS, over.signal).then((): never => {
    const error = unavailable(`The check of the ${phase} took more than ${CHECK_MS / 1000} s`);
    late.abort(error);
    throw error;
  });
  // It rejects as well when it is called off.
  limit.catch(() => undefined);
  try {
    return await Promise.race([result, limit]);
  } finally {
    over.abort();
  }
}
