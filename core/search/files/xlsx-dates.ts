import { shortNumber } from "./drawings.ts";
import { parseXml } from "./package-parts.ts";

/** The meaning of a number in a cell. */
export type NumberKind = "date" | "time" | "datetime" | "duration" | "percent";

/** How the numbers of a workbook's cells are shown, by the styles that cells name. */
export interface CellStyles {
  /** Null for a plain number. */
  kindOf(style: string): NumberKind | null;
}

/** The formats that every workbook has (ECMA-376, part 1, section 18.8.30), as far as they change what a number says. */
const BUILT_IN: readonly (readonly [from: number, to: number, kind: NumberKind])[] = [
  [9, 10, "percent"],
  [14, 17, "date"],
  [18, 21, "time"],
  [22, 22, "datetime"],
  [27, 31, "date"],
  [32, 35, "time"],
  [36, 36, "date"],
  [45, 45, "time"],
  [46, 46, "duration"],
  [47, 47, "time"],
  [50, 58, "date"],
];

/** Reads `xl/styles.xml`. */
export function* cellStyles(xml: string): Generator<void, CellStyles, void> {
  const codes = new Map<number, string>();
  const formats: number[] = [];
  let isCells = false;
  yield* parseXml(xml, {
    open(name, { numFmtId = "0", formatCode = "" }) {
      if (name === "numFmt") codes.set(Number(numFmtId), formatCode);
      else if (name === "cellXfs") isCells = true;
      else if (name === "xf" && isCells) formats.push(Number(numFmtId));
    },
    close(name) {
      if (name === "cellXfs") isCells = false;
    },
  });
  const kinds = formats.map((id) => {
    const code = codes.get(id);
    if (code !== undefined) return kindOfCode(code);
    return BUILT_IN.find(([from, to]) => id >= from && id <= to)?.[2] ?? null;
  });
  return { kindOf: (style) => kinds[Number(style)] ?? null };
}

/** Reads the kind from a format's letters, without quoted text, escaped signs, colours and conditions. */
function kindOfCode(code: string): NumberKind | null {
  const [positive = ""] = code
    .replaceAll(/"[^"]*"|\\.|_.|\*./gu, "")
    .toLowerCase()
    .split(";");
  if (/\[(?:h+|m+|s+)\]/u.test(positive)) return "duration";
  const letters = positive.replaceAll(/\[[^\]]*\]|general|am\/pm|a\/p/gu, "");
  const hasTime = /[hs]/u.test(letters);
  // An m beside hours or seconds is of minutes.
  const hasDate = /[yd]/u.test(letters) || (/m/u.test(letters) && !hasTime);
  if (hasDate) return hasTime ? "datetime" : "date";
  if (hasTime) return "time";
  return letters.includes("%") ? "percent" : null;
}

const DAY_MS = 86_400_000;
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
/** The day after 9999-12-31, the last one that a workbook knows. */
const MOST_DAYS = 2_958_466;

/** Formats a number of a cell as the date or time (ISO 8601) or the share that it stands for; unchanged where it is out of range. */
export function numberText(value: string, kind: NumberKind, is1904: boolean): string {
  const days = Number(value);
  if (kind === "percent")
    return Number.isFinite(days) ? `${shortNumber(String(days * 100))}%` : value;
  if (!Number.isFinite(days) || days < 0 || days >= MOST_DAYS) return value;
  if (kind === "duration") return clock(days * DAY_MS);
  const rest = Math.round((days - Math.floor(days)) * 86_400) * 1000;
  if (kind === "time") return clock(rest % DAY_MS);
  // Excel's calendar from 1900 has a 29 February that never existed: days before it are one later.
  const shift = !is1904 && days < 60 ? 1 : 0;
  const epoch = is1904 ? EPOCH_1904 : EPOCH_1900;
  const text = new Date(epoch + (Math.floor(days) + shift) * DAY_MS + rest).toISOString();
  return kind === "date" ? text.slice(0, 10) : text.slice(0, 19).replace("T", " ");
}

function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
