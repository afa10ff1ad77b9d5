import { invalidRequest } from "../api-error.ts";
import { LAST_INSTANT } from "./bounded-number.ts";

/** The beginning of year 0. */
const FIRST_INSTANT = -62_167_219_200_000;
const FORM =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2})))?$/;

/**
 * Unix ms of an RFC 3339 date-time, or of a bare date (00:00 UTC); null when it is anything else.
 * Engines disagree about `Date.parse` beyond that form (31 February, a missing zone), so it is not used.
 */
export function parseInstant(text: string): number | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(part) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (hour > 23 || minute > 59 || second > 59 || part(9) > 23 || part(10) > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const fraction = Math.trunc(Number(`0.${match[7] ?? "0"}`) * 1000);
  const offset = (match[8] === "-" ? -1 : 1) * (part(9) * 60 + part(10)) * 60_000;
  const ms = date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + fraction - offset;
  // A zone may move it out of the years that have four digits, whose text would not sort.
  return ms >= FIRST_INSTANT && ms <= LAST_INSTANT ? ms : null;
}

/** RFC 3339 text in UTC, with milliseconds only when there are any. */
export function formatInstant(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** Throws for an end that is over when a thing is made: it would never open anything. */
export function checkFuture(field: string, at: number | null | undefined, now: number): void {
  if (at == null || at > now) return;
  throw invalidRequest(
    `${field}: ${formatInstant(at)} is in the past: write a later time, or leave it out for one that does not expire`,
  );
}
