import { type ApiError, invalidRequest } from "../../http/api-error.ts";
import { checkNumber, LAST_INSTANT, LONGEST_SECONDS } from "../../http/fields/bounded-number.ts";
import type { ActorContext } from "../../ports.ts";
import type { Schedule, When } from "../define/tasks.ts";
import { nextCron } from "./next-cron.ts";

/** The rule of a one-time schedule that is due some time after it was made. */
const DELAY = "delay";

/** A schedule before it is a row. */
export interface Plan {
  readonly id: string;
  readonly kind: Schedule["kind"];
  /** Milliseconds, a cron expression, `delay`, or nothing for a date. */
  readonly rule: string;
  /** By the steady clock, as all due times. */
  readonly due: number;
  /** The date or time of day that `due` stands for, by the clock of the machine; null for time that elapses. */
  readonly wall: number | null;
  /** The trace that its run belongs to. @default each run begins one */
  readonly trace?: string | null;
}

/** The steady clock's time minus that of the machine's clock, in ms. */
export function aheadOf({ steady, system }: ActorContext): number {
  return steady() - system.now();
}

/** Both clocks give whole ms, so their difference changes by one without cause. */
export const ROUNDED_MS = 1;

/** When a time of day comes by the steady clock; never before the machine's clock has it. */
export function steadyTime(wall: number, context: ActorContext): number {
  return wall + aheadOf(context) + ROUNDED_MS;
}

/** An interval, whose first time is one interval from now. */
export function intervalPlan(id: string, ms: number, { steady }: ActorContext): Plan {
  return { id, kind: "interval", rule: String(ms), due: steady() + ms, wall: null };
}

/** A date or time of day by the machine's clock. */
export function wallPlan(
  plan: Pick<Plan, "id" | "kind" | "rule">,
  wall: number,
  context: ActorContext,
): Plan {
  return { ...plan, due: steadyTime(wall, context), wall };
}

/** Reads the time that a caller gave. Throws 400. */
export function planOf(when: When, context: ActorContext): Plan {
  const { steady, system } = context;
  const id = system.id();
  if (typeof when === "string") {
    try {
      return wallPlan({ id, kind: "cron", rule: when }, nextCron(when, system.now()), context);
    } catch (error) {
      throw invalidRequest(error instanceof Error ? error.message : "");
    }
  }
  if (typeof when === "number") {
    return { id, kind: "once", rule: DELAY, due: steady() + spanOf("when", when), wall: null };
  }
  if (!(when instanceof Date)) throw noTime(when);
  const time = when.getTime();
  // Dates end at 275,760, and the text of one after 9999 sorts before all others.
  if (!(time >= 0 && time <= LAST_INSTANT))
    throw noTime(Number.isNaN(time) ? "an invalid date" : time);
  return wallPlan({ id, kind: "once", rule: "" }, time, context);
}

/** From a tenth of a millisecond to a hundred years, as whole ms. */
export function spanOf(field: string, seconds: unknown): number {
  const checked = checkNumber(field, seconds, { min: 0.0001, max: LONGEST_SECONDS });
  return Math.ceil(checked * 1000);
}

/** Anything may come from plain JavaScript, or from a client's arguments that were passed on. */
function noTime(when: unknown): ApiError {
  const shown = typeof when === "number" ? `${when} ms` : String(when);
  const message = `when: expected seconds, a cron expression, or a date from 1970 to 9999, got ${shown}`;
  return invalidRequest(message);
}
