import { invalidRequest } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import { runThrough } from "../../work/background.ts";
import { BoundedMap } from "../../work/bounded-map.ts";
import {
  decideSteps,
  type GateDecision,
  type PageRequest,
  type RequestRules,
} from "./request-gate.ts";

/** Milliseconds of one job's patterns before other work has its turn, and of all. */
const SLICE_MS = 5;
const MOST_MS = 1000;
/** Refused addresses that are remembered, and characters of one. */
const REMEMBERED = 1000;
const ADDRESS = 2048;

/** Decides on the requests of a job one after another, because its patterns may take long together. */
export interface RequestTurns {
  /** Calls back with the decision: at once, unless the patterns have taken their slice of time. */
  decide(request: PageRequest, answer: (decision: GateDecision) => void): void;
  /** Returns the decision on a request as it was made; without the patterns where none was. */
  decided(request: PageRequest): GateDecision;
}

/** Options of {@link requestTurns}. */
export interface TurnDeps {
  readonly system: Pick<System, "monotonic" | "sleep">;
  /** Returns the rules of the job; null while there is none, when nothing is decided. */
  readonly rules: () => RequestRules | null;
  /** Ends the job with an error, when its patterns take longer than a job's may. */
  readonly fail: (error: Error) => void;
}

interface Waiting {
  readonly request: PageRequest;
  readonly steps: Generator<void, GateDecision, void>;
  readonly answer: (decision: GateDecision) => void;
}

/** The state of one job. */
interface Turn {
  readonly rules: RequestRules | null;
  readonly waiting: Waiting[];
  readonly refused: BoundedMap<string, GateDecision>;
  spentMs: number;
  sliceMs: number;
  isPausing: boolean;
}

/** Begins with the requests of a tab, whose jobs follow each other. */
export function requestTurns({ system, rules, fail }: TurnDeps): RequestTurns {
  let turn = turnOf(null);
  const current = (): Turn => {
    const now = rules();
    if (now === turn.rules) return turn;
    const { waiting } = turn;
    turn = turnOf(now);
    for (const { answer } of waiting) answer("blocked");
    return turn;
  };
  const pause = async (of: Turn): Promise<void> => {
    of.isPausing = true;
    await system.sleep(0);
    of.isPausing = false;
    of.sliceMs = 0;
    if (of === current()) run(of);
  };
  const run = (of: Turn): void => {
    for (;;) {
      const [next] = of.waiting;
      if (next === undefined) return;
      const began = system.monotonic();
      const step = next.steps.next();
      const ms = system.monotonic() - began;
      of.spentMs += ms;
      of.sliceMs += ms;
      if (of.spentMs > MOST_MS) {
        of.waiting.length = 0;
        return fail(tooSlow());
      }
      if (step.done === true) settle(of, step.value);
      if (of.sliceMs > SLICE_MS && of.waiting.length > 0) return void pause(of);
    }
  };
  return {
    decide(request, answer) {
      const of = current();
      if (of.rules === null || of.spentMs > MOST_MS) return answer("blocked");
      of.waiting.push({ request, steps: decideSteps(request, of.rules), answer });
      if (!of.isPausing && of.waiting.length === 1) run(of);
    },
    decided(request) {
      const of = current();
      if (of.rules === null) return "continue";
      return of.refused.get(keyOf(request)) ?? withoutPatterns(request, of.rules);
    },
  };
}

/** Decides on a single request. @throws ApiError `invalid_request` when the patterns take too long */
export function decideOne(
  request: PageRequest,
  rules: RequestRules,
  system: TurnDeps["system"],
): Promise<GateDecision> {
  return new Promise((resolve, reject) =>
    requestTurns({ system, rules: () => rules, fail: reject }).decide(request, resolve),
  );
}

function turnOf(rules: RequestRules | null): Turn {
  const refused = new BoundedMap<string, GateDecision>(REMEMBERED);
  return { rules, waiting: [], refused, spentMs: 0, sliceMs: 0, isPausing: false };
}

function settle({ waiting, refused }: Turn, decision: GateDecision): void {
  const done = waiting.shift();
  if (done === undefined) return;
  if (decision !== "continue") refused.set(keyOf(done.request), decision);
  done.answer(decision);
}

function keyOf({ type, url }: PageRequest): string {
  return `${type} ${url.slice(0, ADDRESS)}`;
}

function withoutPatterns(request: PageRequest, rules: RequestRules): GateDecision {
  return runThrough(decideSteps(request, { ...rules, allowPatterns: [], rejectPatterns: [] }));
}

function tooSlow(): Error {
  return invalidRequest(
    `allowRequestPattern/rejectRequestPattern: Matching the page's addresses takes more than ${MOST_MS} ms: use shorter patterns, or fewer counts such as {100}`,
  );
}
