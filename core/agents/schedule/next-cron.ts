import { Cron } from "croner";

/** Characters of an expression. */
const LONGEST = 128;

/**
 * Unix ms of the first match of a cron expression after a time, in UTC: five fields (minute hour day month weekday, names such as
 * `MON` and `JAN` too), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
 *
 * @throws TypeError for a malformed expression, or one that never matches
 */
export function nextCron(expression: string, after: number): number {
  const next = read(expression).nextRun(new Date(after));
  if (next !== null) return next.getTime();
  throw new TypeError(`The cron expression "${expression}" never matches`);
}

function read(expression: string): Cron {
  const fields = expression.trim().split(/\s+/u);
  const [, , day = "", , weekday = ""] = fields;
  // The library would take a date as well.
  if (expression.length > LONGEST || (fields.length !== 5 && !/^@[a-z]+$/iu.test(expression))) {
    throw new TypeError(
      `The cron expression "${expression.slice(0, 64)}" must have five fields, such as "0 9 * * MON", or be a name, such as "@daily"`,
    );
  }
  try {
    return new Cron(expression, {
      mode: "5-part",
      utcOffset: 0,
      // `5/10` counts from 5 to the end.
      sloppyRanges: true,
      // POSIX crontab: of two restricted day fields one match is enough.
      domAndDow: day.startsWith("*") || weekday.startsWith("*"),
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /u, "") : "";
    throw new TypeError(`The cron expression "${expression}" cannot be read: ${reason}`, {
      cause: error,
    });
  }
}
