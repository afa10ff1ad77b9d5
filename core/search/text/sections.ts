/** A stretch of a Markdown text below one heading, in UTF-16 units. */
export interface Section {
  readonly start: number;
  readonly end: number;
  /** The headings above it, outermost first, joined by " > ". */
  readonly heading: string;
}

/** Returns the sections between ATX headings; lines inside fenced code are not headings. */
export function markdownSections(text: string): Section[] {
  const out: Section[] = [];
  const path: string[] = [];
  let fence: string | null = null;
  let start = 0;
  const close = (end: number): void => {
    if (end > start)
      out.push({ start, end, heading: path.filter((part) => part !== "").join(" > ") });
    start = end;
  };
  for (const line of text.matchAll(/[^\n]*(?:\n|$)/g)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line[0])?.[1];
    if (mark !== undefined && (fence === null || mark.startsWith(fence))) {
      fence = fence === null ? mark : null;
      continue;
    }
    const heading = fence === null ? /^ {0,3}(#{1,6})[ \t]+(\S.*)/.exec(line[0]) : null;
    if (heading === null) continue;
    close(line.index);
    const depth = heading[1]?.length ?? 1;
    path.length = Math.min(path.length, depth - 1);
    while (path.length < depth - 1) path.push("");
    path.push(headingText(heading[2] ?? ""));
  }
  close(text.length);
  return out;
}

function headingText(source: string): string {
  return source.slice(0, 200).trimEnd().replace(/#+$/, "").replaceAll(/[*_`]/g, "").trim();
}
