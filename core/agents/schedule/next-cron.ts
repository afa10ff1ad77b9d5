import { Cron } from "croner";

/** Characters of an expression. */
const LONGEST = 128;

/**
 * Unix ms of the first match of a cron expression after a time: five fields (minute hour day month weekday, names such as
 * `MON` and `JAN` too), six with seconds in front, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. In UTC, or in
 * the zone of a prefix such as `TZ=Europe/Berlin`.
 *
 * @throws TypeError for a malformed expression, or one that never matches
 */
export function nextCron(expression: string, after: number): number {
  const next = firstMatch(expression, new Date(after));
  if (next !== null) return next.getTime();
  throw new TypeError(`The cron expression "${expression}" never matches`);
}

function firstMatch(expression: string, after: Date): Date | null {
  const [, zone, pattern = ""] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/su.exec(expression.trim()) ?? [];
  const fields = pattern.split(/\s+/u);
  const [, , day = "", , weekday = ""] = fields.slice(-5);
  const isCounted = fields.length === 5 || fields.length === 6;
  // The library would take a date as well.
  if (expression.length > LONGEST || (!isCounted && !/^@[a-z]+$/iu.test(pattern))) {
    throw new TypeError(
      `The cron expression "${expression.slice(0, 64)}" must have five fields, such as "0 9 * * MON", six with seconds, or be a name, such as "@daily"`,
    );
  }
  try {
    const cron = new Cron(pattern, {
      mode: fields.length === 6 ? "6-part" : "5-part",
      ...(zone === undefined ? { utcOffset: 0 } : { timezone: zone }),
      // `5/10` counts from 5 to the end.
      sloppyRanges: true,
      // POSIX crontab: of two restricted day fields one match is enough.
      domAndDow: day.startsWith("*") || weekday.startsWith("*"),
    });
    return cron.nextRun(after);
  } catch (error) {
    const told = error instanceof Error ? error.message.replace(/^CronPattern: /u, "") : "";
    // Only the first match is looked up in the zone.
    const reason = told.startsWith("CronDate: ") ? `unknown time zone "${zone}"` : told;
    throw new TypeError(`The cron expression "${expression}" cannot be read: ${reason}`, {
      cause: error,
    });
  }
}
