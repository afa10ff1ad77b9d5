/** Writes lines of Markdown below the quotes and list items that are open. */
export interface LineWriter {
  /** Begins a quote. */
  openQuote(): void;
  /** Begins a list item; its first line carries the marker, the others are indented as deep. */
  openItem(marker: string): void;
  /** Goes on with the list item that was closed last, whose marker had a width. */
  continueItem(width: number): void;
  /** Ends the innermost quote or item; an item without content is written as its marker alone. */
  close(): void;
  /** Asks for a blank line (2) or a fresh line (1) before the next line. */
  gap(lines: 1 | 2): void;
  /** Writes lines that belong together. */
  write(lines: readonly string[]): void;
  /** Whether the open item has no line yet. */
  readonly atItemStart: boolean;
  /** A count that grows with every line written. */
  readonly written: number;
  /** Everything written. */
  finish(): string;
}

interface Container {
  readonly prefix: string;
  readonly lead: string | null;
  readonly item: boolean;
}

/** Characters of prefix: what is nested deeper is written at this depth, or a small page would become a huge text. */
const PREFIX_LIMIT = 40;

/** Makes a line writer. Lines are written once, with their prefix: nothing is copied when a container closes. */
export function lineWriter(): LineWriter {
  const out: string[] = [];
  const containers: Container[] = [];
  let prefix = "";
  /** The start of the next line in place of the prefix: a marker that is still to be written. */
  let lead: string | null = null;
  let wanted: 0 | 1 | 2 = 0;
  /** The prefix of the blank line in between: of the innermost container that both neighbours are in. */
  let gapPrefix: string | null = null;

  const push = (line: string): void => {
    if (out.length > 0 && wanted > 0) out.push("\n");
    if (out.length > 0 && wanted === 2) out.push((gapPrefix ?? prefix).trimEnd(), "\n");
    wanted = 1;
    gapPrefix = null;
    const start = lead ?? prefix;
    lead = null;
    out.push(line === "" ? start.trimEnd() : start + line);
  };
  const enter = (more: string, item: boolean, marker: string): void => {
    const tooDeep = prefix.length + more.length > PREFIX_LIMIT;
    containers.push({ prefix, lead, item });
    gapPrefix ??= prefix;
    if (tooDeep) return;
    if (item || lead !== null) lead = (lead ?? prefix) + marker;
    prefix += more;
  };
  return {
    openQuote: () => enter("> ", false, "> "),
    openItem: (marker) => enter(" ".repeat(marker.length), true, marker),
    continueItem: (width) => enter(" ".repeat(width), false, ""),
    close() {
      const container = containers.pop();
      if (container === undefined) return;
      if (container.item && lead !== null && lead !== container.lead) push("");
      if (
        prefix.length > container.prefix.length &&
        (gapPrefix === null || gapPrefix.length > container.prefix.length)
      ) {
        gapPrefix = container.prefix;
      }
      prefix = container.prefix;
      if (!container.item && lead !== null) lead = container.lead;
    },
    gap(lines) {
      if (lead !== null && containers.at(-1)?.item === true) return;
      if (lines > wanted) wanted = lines;
    },
    write(lines) {
      for (const line of lines) push(line);
    },
    get atItemStart() {
      return lead !== null && containers.at(-1)?.item === true;
    },
    get written() {
      return out.length;
    },
    finish: () => out.join(""),
  };
}
