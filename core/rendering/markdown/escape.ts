const special = /[\\`*_[\]<&~]/gu;

/**
 * Escapes plain text so that a Markdown parser gives the same text back. Characters are escaped only where
 * they could mean something: `snake_case`, `a < b` and `AT&T` stay readable.
 */
export function escapeText(text: string): string {
  return text.replace(special, (char, at: number) => {
    const before = text[at - 1] ?? "";
    const next = text[at + 1] ?? "";
    if (char === "_") return isWord(before) && isWord(next) ? char : "\\_";
    if (char === "<") return next === "" || /[a-z/!?]/iu.test(next) ? "\\<" : char;
    if (char === "&") return escapeAmpersand(text, at);
    if (char === "~")
      return before === "" || next === "" || before === "~" || next === "~" ? "\\~" : char;
    return `\\${char}`;
  });
}

/** Only what reads as a character reference needs the backslash. */
function escapeAmpersand(text: string, at: number): string {
  const tail = text.slice(at, at + 40);
  return /^&(?:#\d{1,7};|#x[\da-f]{1,6};|[a-z][a-z\d]{0,31};|#?[a-z\d]*$)/iu.test(tail)
    ? "\\&"
    : "&";
}

/** Inside a word an underscore never starts or ends emphasis (CommonMark 6.2). */
function isWord(char: string): boolean {
  return /[\p{L}\p{N}]/u.test(char);
}

/** Escapes what would make a block of a line that begins with it: a heading, a list, a quote, a rule. */
export function escapeLineStart(line: string): string {
  const first = line.charCodeAt(0);
  // Letters begin most lines; none of the rules applies to them.
  if ((first >= 65 && first <= 90) || (first >= 97 && first <= 122) || first > 127) return line;
  if (/^(?:#{1,6}(?:\s|$)|[-+](?:\s|$)|>|=+\s*$|-[-\s|:]*$|:?-+:?\s*\|)/u.test(line))
    return `\\${line}`;
  return line.replace(/^(\d{1,9})([.)])(?=\s|$)/u, "$1\\$2");
}

/** Escapes a closing run of `#`, which a heading would lose. */
export function escapeHeadingEnd(line: string): string {
  return line.replace(/(^|\s)(#+)$/u, "$1\\$2");
}

/** Makes a code span around text; its fence is longer than any run of backticks inside. */
export function codeSpan(text: string): string {
  const flat = text.replaceAll(/[\t\n\f\r ]+/gu, " ");
  if (flat === "" || flat === " ") return flat;
  const fence = "`".repeat(longestRun(flat) + 1);
  const pad =
    flat.startsWith("`") || flat.endsWith("`") || (flat.startsWith(" ") && flat.endsWith(" "))
      ? " "
      : "";
  return `${fence}${pad}${flat}${pad}${fence}`;
}

/** Returns the length of the longest run of backticks. */
export function longestRun(text: string): number {
  let longest = 0;
  let run = 0;
  for (let at = text.indexOf("`"); at >= 0; at = text.indexOf("`", at + 1)) {
    run = at > 0 && text[at - 1] === "`" ? run + 1 : 1;
    if (run > longest) longest = run;
  }
  return longest;
}
