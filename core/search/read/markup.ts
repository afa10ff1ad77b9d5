/** A markup of plain text whose headings become those of Markdown. */
export type Markup = "rst" | "asciidoc" | "org";

/** Returns a text in another markup with its headings, code and tables as Markdown has them; all else stays as it is. */
export function* markupText(source: string, markup: Markup): Generator<void, string, void> {
  const lines = source.split(/\r?\n/u);
  yield;
  if (markup === "org") return orgLines(lines).join("\n");
  return (markup === "rst" ? rstLines(lines) : asciidocLines(lines)).join("\n");
}

/** A line that Markdown would take for a heading, and that is none here. */
function escaped(line: string): string {
  return line.replace(/^( {0,3})(?=#{1,6}(?:[ \t]|$))/u, "$1\\");
}

function heading(level: number, title: string): string {
  return `${"#".repeat(Math.min(6, Math.max(1, level)))} ${title.trim()}`;
}

/** A line of one sign of punctuation, as it stands above and below titles of reStructuredText. */
const ADORNMENT = /^([!-/:-@[-`{-~])\1+\s*$/u;

/**
 * Titles of reStructuredText: one line, underlined, or between two such lines. The first kind of line that occurs is the
 * first level, and so on (docutils, "Sections").
 */
function rstLines(lines: readonly string[]): string[] {
  const kinds: string[] = [];
  const out: string[] = [];
  const levelOf = (kind: string): number => {
    if (!kinds.includes(kind)) kinds.push(kind);
    return kinds.indexOf(kind) + 1;
  };
  for (let n = 0; n < lines.length; n++) {
    const line = lines[n] ?? "";
    const [next = "", last = ""] = lines.slice(n + 1, n + 3);
    const isFirst = n === 0 || (lines[n - 1] ?? "").trim() === "";
    if (isFirst && isAdorned(next, line) && last.trimEnd() === line.trimEnd()) {
      out.push(heading(levelOf(`${line[0] ?? ""}over`), next));
      n += 2;
    } else if (isFirst && /^\S/u.test(line) && isAdorned(line, next)) {
      out.push(heading(levelOf(next[0] ?? ""), line));
      n++;
    } else out.push(escaped(line));
  }
  return out;
}

/** Whether a line can adorn a title: as long as that, or four signs, of which docutils only warns. */
function isAdorned(title: string, line: string): boolean {
  const length = line.trimEnd().length;
  if (title.trim() === "" || ADORNMENT.test(title) || !ADORNMENT.test(line)) return false;
  return length >= Math.min(4, title.trim().length);
}

/** Underlines of the older titles of AsciiDoc, by their level. */
const ASCIIDOC_LINES = "=-~^+";
/** Lines that begin and end what is shown as it is. */
const LISTING = /^(?:-{4,}|\.{4,}|`{3,}.*)$/u;

/** Titles of AsciiDoc: `= Title`, `== Section` and so on, or underlined (AsciiDoc, "Section Titles"). */
function asciidocLines(lines: readonly string[]): string[] {
  const out: string[] = [];
  let listing: string | null = null;
  for (let n = 0; n < lines.length; n++) {
    const line = (lines[n] ?? "").trimEnd();
    const level: number = listing === null ? underlinedLevel(line, lines[n + 1] ?? "") : 0;
    const title = /^(={1,6})[ \t]+(\S.*)$/u.exec(line);
    if (listing !== null) {
      out.push(line === listing ? "```" : line);
      if (line === listing) listing = null;
    } else if (title !== null) out.push(heading((title[1] ?? "").length, title[2] ?? ""));
    else if (level > 0) {
      out.push(heading(level, line));
      n++;
    } else if (LISTING.test(line)) {
      listing = line.startsWith("`") ? "```" : line;
      out.push("```");
    } else out.push(line);
  }
  return out;
}

/** The level of a title that is underlined, about as long as it is; 0 for another line. */
function underlinedLevel(line: string, next: string): number {
  const underline = next.trimEnd();
  if (!/^[\p{L}\p{N}]/u.test(line) || !ADORNMENT.test(underline)) return 0;
  if (Math.abs(underline.length - line.length) > 1) return 0;
  return ASCIIDOC_LINES.indexOf(underline[0] ?? "") + 1;
}

/** Headings of Org begin with stars; `#+TITLE:` is the outermost one (Org manual, "Headlines" and "Export Settings"). */
function orgLines(lines: readonly string[]): string[] {
  const isTitled = lines.some((line) => /^#\+title:/iu.test(line));
  let isCode = false;
  return lines.map((line) => {
    const block = /^\s*#\+(begin|end)_(?:src|example|export)\b\s*(\S*)/iu.exec(line);
    if (block !== null) {
      isCode = block[1]?.toLowerCase() === "begin";
      return isCode ? `\`\`\`${block[2] ?? ""}` : "```";
    }
    if (isCode) return line;
    const whole = /^#\+title:\s*(.*)$/iu.exec(line);
    if (whole !== null) return heading(1, whole[1] ?? "");
    const headline = /^(\*+)\s+(\S.*)$/u.exec(line.trimEnd());
    if (headline !== null) {
      // Its tags are not part of it. Blanks are read from their first one alone: a line may have millions.
      const title = (headline[2] ?? "").replace(/(?<!\s)\s+:[\p{L}\p{N}_@#%:]+:$/u, "");
      return heading((headline[1] ?? "").length + (isTitled ? 1 : 0), title);
    }
    // The line below the columns of a table.
    return /^\s*\|[-+]+\|?\s*$/u.test(line) ? line.replaceAll("+", "|") : escaped(line);
  });
}
