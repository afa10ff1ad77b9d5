/** The allowed values of each of the five fields of a cron expression. */
interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Both day fields are restricted: then one match is enough (POSIX crontab). */
  readonly eitherDay: boolean;
}

const DAY_MS = 86_400_000;
/** 29 February comes within eight years. */
const DAYS_AHEAD = 366 * 8 + 1;

/**
 * Unix ms of the first match of a five-field cron expression (minute hour day month weekday, UTC) after a
 * time. Throws `TypeError` on a malformed expression or one that never matches.
 */
export function nextCron(expression: string, after: number): number {
  const cron = parseCron(expression);
  const start = new Date(after);
  const midnight = Date.UTC(start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate());
  for (let day = 0; day < DAYS_AHEAD; day++) {
    const date = midnight + day * DAY_MS;
    if (!matchesDay(cron, new Date(date))) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const at = date + (hour * 60 + minute) * 60_000;
        if (at > after) return at;
      }
    }
  }
  throw new TypeError(`The cron expression "${expression}" never matches`);
}

function matchesDay(cron: Cron, date: Date): boolean {
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const day = cron.days.has(date.getUTCDate());
  const weekday = cron.weekdays.has(date.getUTCDay());
  return cron.eitherDay ? day || weekday : day && weekday;
}

function parseCron(expression: string): Cron {
  const fields = expression.trim().split(/\s+/);
  const [minute, hour, day, month, weekday] = fields;
  if (
    minute === undefined ||
    hour === undefined ||
    day === undefined ||
    month === undefined ||
    weekday === undefined ||
    fields.length !== 5
  ) {
    throw new TypeError(`The cron expression "${expression.slice(0, 64)}" must have five fields`);
  }
  return {
    minutes: parseField(minute, 0, 59),
    hours: parseField(hour, 0, 23),
    days: new Set(parseField(day, 1, 31)),
    months: new Set(parseField(month, 1, 12)),
    // 7 is Sunday too.
    weekdays: new Set(parseField(weekday, 0, 7).map((value) => value % 7)),
    eitherDay: !day.startsWith("*") && !weekday.startsWith("*"),
  };
}

/** Values of `*`, `a`, `a-b`, each with an optional `/step`, in a comma-separated list. */
function parseField(field: string, min: number, max: number): number[] {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const { from, to, step } = parseRange(part, min, max);
    if (!(step > 0 && from >= min && to <= max && from <= to)) {
      throw new TypeError(`The cron field "${field.slice(0, 32)}" is not within ${min}-${max}`);
    }
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return [...values].toSorted((a, b) => a - b);
}

/** A malformed part has NaN bounds, which no comparison accepts. */
function parseRange(
  part: string,
  min: number,
  max: number,
): { from: number; to: number; step: number } {
  const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
  if (match === null) return { from: Number.NaN, to: Number.NaN, step: 1 };
  const [, first, last, every] = match;
  const step = Number(every ?? 1);
  if (first === undefined) return { from: min, to: max, step };
  const from = Number(first);
  // `5/10` counts from 5 to the end, `5` is just 5.
  const open = every === undefined ? from : max;
  return { from, to: last === undefined ? open : Number(last), step };
}
