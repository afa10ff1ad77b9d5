import * as v from "valibot";
import { invalidRequest } from "../api-error.ts";

/** The last moment that a row, an alarm or a date may name, in Unix ms: dates with five digits of the year sort wrongly as text. */
export const LAST_INSTANT = 253_402_300_799_999;
/** The longest time that may be waited for, in seconds: a hundred years, far from where dates and whole numbers end. */
export const LONGEST_SECONDS = 3_162_240_000;
/** The same in days, for rows that are kept so long. */
export const LONGEST_DAYS = 36_600;
/** The longest timeout in ms, which is the bound of a 32-bit timer: 24 days. */
export const LONGEST_TIMER_MS = 2_147_483_647;
/** US dollars that no price or amount exceeds: sums of any number of them stay finite. */
export const MOST_USD = 1_000_000;
/** The largest count of anything: tokens, rows, bytes. Sums of millions of them still are whole numbers. */
export const LARGEST_COUNT = 1_000_000_000_000;

/** The numbers that a field takes; both ends are among them. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** @default fractions are fine */
  readonly whole?: boolean;
}

/** A schema of whole numbers between two ends, whose message names the value and the range. */
export function whole(min: number, max: number): v.GenericSchema<number> {
  const says = misfitOf({ min, max, whole: true });
  return v.pipe(v.number(says), v.integer(says), v.minValue(min, says), v.maxValue(max, says));
}

/** A schema of numbers between two ends, whose message names the value and the range. */
export function between(min: number, max: number): v.GenericSchema<number> {
  const says = misfitOf({ min, max });
  return v.pipe(v.number(says), v.minValue(min, says), v.maxValue(max, says));
}

/** The value, if it is a number of the range; else throws an error that names the field, the value and the range. */
export function checkNumber(field: string, value: unknown, range: NumberRange): number {
  if (isInRange(value, range)) return value;
  throw invalidRequest(`${field}: ${misfit(value, range)}`);
}

/** Whether a value is a number of the range. */
export function isInRange(
  value: unknown,
  { min, max, whole: isWhole }: NumberRange,
): value is number {
  if (typeof value !== "number" || !(value >= min && value <= max)) return false;
  return isWhole !== true || Number.isInteger(value);
}

/**
 * The nearest number of the range; `min` for NaN. For numbers that are stored or come from other servers, which cannot
 * be refused.
 */
export function clamp(value: number, min: number, max: number): number {
  return value >= min ? Math.min(value, max) : min;
}

/** A moment as rows and alarms may hold it, in whole ms. */
export function boundedInstant(ms: number): number {
  return clamp(Math.ceil(ms), 0, LAST_INSTANT);
}

function misfitOf(range: NumberRange): (issue: v.BaseIssue<unknown>) => string {
  return ({ input }) => misfit(input, range);
}

function misfit(value: unknown, range: NumberRange): string {
  const kind = range.whole === true ? "a whole number" : "a number";
  return `expected ${kind} from ${range.min} to ${range.max}, got ${shown(value)}`;
}

/** Longest quote of a value that is not a number, in characters. */
const SHOWN = 40;

function shown(value: unknown): string {
  if (typeof value === "number" || value == null) return String(value);
  if (typeof value === "string") return JSON.stringify(value.slice(0, SHOWN));
  return Array.isArray(value) ? "a list" : value instanceof Date ? "a date" : `a ${typeof value}`;
}
