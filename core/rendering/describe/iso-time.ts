const ISO =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?/iu;
const COMPACT =
  /^(?<year>\d{4})(?:[/.](?<month>\d{1,2})[/.](?<day>\d{1,2})|(?<m>\d{2})(?<d>\d{2}))(?!\d)/u;

const months = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const WORDS =
  /(?:^|[^\p{L}\d])(?:(?<d>\d{1,2})(?:st|nd|rd|th)?\.? (?<m>[a-z]{3})[a-z]*\.?|(?<month>[a-z]{3})[a-z]*\.? (?<day>\d{1,2})(?:st|nd|rd|th)?),? (?<year>\d{4})(?:[^\d]|$)/iu;

/** Writes a day, and its time where it has one, as ISO 8601; "" for what is none, or has two readings (3/4/2020). */
export function isoTime(text: string): string {
  const iso = ISO.exec(text)?.groups;
  if (iso !== undefined) return isoOf(iso);
  const compact = COMPACT.exec(text)?.groups;
  if (compact !== undefined) {
    const { year, month = compact["m"], day = compact["d"] } = compact;
    return dayOf(year, month, day);
  }
  const words = WORDS.exec(text)?.groups;
  if (words === undefined) return "";
  const { year, month = words["m"] ?? "", day = words["d"] } = words;
  return dayOf(year, String(months.indexOf(month.toLowerCase()) + 1), day);
}

function isoOf({ day = "", time, zone = "" }: Readonly<Record<string, string>>): string {
  if (!isDay(day)) return "";
  return time === undefined ? day : `${day}T${time}${zone.toUpperCase()}`;
}

function dayOf(year = "", month = "", day = ""): string {
  const text = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  return isDay(text) ? text : "";
}

function isDay(day: string): boolean {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  return year >= 1000 && month >= 1 && month <= 12 && date >= 1 && date <= 31;
}
