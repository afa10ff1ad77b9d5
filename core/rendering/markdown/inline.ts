import { charBefore, type MarkKind, settleBoth, settleMark } from "./emphasis.ts";
import { codeSpan, escapeText } from "./escape.ts";

interface Mark {
  readonly kind: MarkKind;
  /** The end of a link, e.g. `](https://example.com)`. */
  readonly end: string;
  /** The index of its opening delimiter in the parts; -1 while nothing has been written inside. */
  opened: number;
}

/** A delimiter that was closed; whether it works depends on the character that follows. */
interface Closed {
  readonly kind: MarkKind;
  readonly start: number;
  readonly end: number;
}

/** Collects the inline content of one block after the other. */
export interface Inline {
  text(text: string): void;
  /** Markdown that counts as one piece, e.g. an image. */
  atom(markdown: string): void;
  code(text: string): void;
  /** Writes the text of a picture that is not there, which {@link takeBack} may take back while nothing follows it. */
  standIn(text: string): void;
  /** Whether there was such a text. */
  takeBack(text: string): boolean;
  lineBreak(): void;
  /** Ends a line inside of a link that has text; false outside of one, and after many of them. */
  breakInLink(): boolean;
  /** Writes a label into the link that is open if nothing else is in it. */
  label(text: string): void;
  open(kind: MarkKind, end?: string): void;
  close(kind: MarkKind): void;
  /** The Markdown of the block so far, its lines split at breaks; formatting stays in force for the next block. */
  flush(): string[];
  /** Whether a picture was written last. */
  readonly endsInPicture: boolean;
  /** Whether anything but white space has been written. */
  readonly empty: boolean;
}

/** The delimiters of each kind, unless its surroundings need others. */
const delimiters: Readonly<Record<MarkKind, readonly [begin: string, end: string]>> = {
  strong: ["**", "**"],
  em: ["_", "_"],
  del: ["~~", "~~"],
  link: ["[", ""],
  // No markup says it: readers, models and GitHub all understand the tags.
  sup: ["<sup>", "</sup>"],
  sub: ["<sub>", "</sub>"],
};

/** Lines of one link: beyond them it is one that its author forgot to close. */
const LINK_LINES = 20;

/** The end of a line inside a block; no text can contain it, because white space is collapsed. */
const BREAK = "\n";

/**
 * Makes an inline collector. Delimiters are written when the first text inside them comes and moved inside of
 * white space, so that `<b> a </b>` gives ` **a** `; neighbours of one kind are joined; a delimiter that
 * would not be read as one (CommonMark's flanking rules) is left out, so that text always survives.
 */
export function inlineCollector(): Inline {
  const state: State = {
    parts: [],
    marks: [],
    closed: [],
    nested: { strong: 0, em: 0, del: 0, link: 0, sup: 0, sub: 0 },
    space: false,
    isLineDue: false,
    linkLines: 0,
    rawText: "",
    standInAt: -1,
    heldCode: "",
  };
  return {
    get empty() {
      const { parts, heldCode, rawText } = state;
      return parts.length === 0 && heldCode === "" && (rawText === "" || rawText.trim() === "");
    },
    get endsInPicture() {
      const { parts, rawText } = state;
      return rawText.trim() === "" && parts.slice(-2).some((part) => part.startsWith("!["));
    },
    text(text) {
      if (state.heldCode !== "") drain(state);
      state.rawText += text;
    },
    atom: (markdown) => writeAtom(state, markdown),
    code(text) {
      if (state.rawText !== "") drain(state);
      state.heldCode += text;
    },
    standIn(text) {
      if (state.heldCode !== "") drain(state);
      state.standInAt = state.rawText.length;
      state.rawText += text;
    },
    takeBack: (text) => takeBack(state, text),
    lineBreak() {
      drain(state);
      settle(state, " ");
      state.space = false;
      state.parts.push(BREAK);
    },
    breakInLink() {
      drain(state);
      const link = state.marks.find(({ kind }) => kind === "link");
      if (link === undefined || link.opened < 0 || state.linkLines >= LINK_LINES) return false;
      state.isLineDue = true;
      return true;
    },
    label: (text) => writeLabel(state, text),
    open: (kind, end = "") => openMark(state, kind, end),
    close: (kind) => closeMark(state, kind),
    flush: () => flush(state),
  };
}

interface State {
  parts: string[];
  /** At most one per kind. */
  marks: Mark[];
  closed: Closed[];
  /** Elements of a kind inside another of that kind: they change nothing. */
  readonly nested: Record<MarkKind, number>;
  /** White space that is written when something follows. */
  space: boolean;
  /** Set where a block of a link has ended: more of the link goes on a line of its own. */
  isLineDue: boolean;
  /** Lines of the link that is open. */
  linkLines: number;
  /** Text that is escaped when it is complete: an entity and what follows it come in pieces. */
  rawText: string;
  /** Where text in the place of a picture begins in `rawText`; -1 without any. */
  standInAt: number;
  /** A code span that is written when its neighbour is known: two side by side would read as one with backticks. */
  heldCode: string;
}

function drain(state: State): void {
  if (state.heldCode !== "") {
    const span = codeSpan(state.heldCode);
    state.heldCode = "";
    if (span === " ") state.space = true;
    else write(state, span);
  }
  if (state.rawText === "") return;
  const flat = state.rawText.replaceAll(/[\t\n\f\r ]+/gu, " ");
  state.rawText = "";
  state.standInAt = -1;
  if (flat.startsWith(" ")) state.space = true;
  const core = flat.replaceAll(/^ | $/gu, "");
  if (core === "") return;
  write(state, escapeText(core));
  state.space = flat.endsWith(" ");
}

function writeAtom(state: State, markdown: string): void {
  drain(state);
  const { parts } = state;
  // Two formulas side by side would read as other ones: $x$$y$.
  if (markdown.startsWith("$") && charBefore(parts, parts.length) === "$") state.space = true;
  write(state, markdown);
}

function writeLabel(state: State, text: string): void {
  drain(state);
  const link = state.marks.find(({ kind }) => kind === "link");
  if (link === undefined || link.opened >= 0 || text.trim() === "") return;
  state.rawText = text.trim();
  drain(state);
}

function takeBack(state: State, text: string): boolean {
  const { standInAt: at, rawText } = state;
  const isThere = at >= 0 && rawText.slice(at).trim() === text;
  if (isThere) state.rawText = rawText.slice(0, at);
  return isThere;
}

/** Writes a piece, after the white space and the opening delimiters that wait for it. */
function write(state: State, markdown: string): void {
  if (state.isLineDue) breakDueLine(state);
  const before = charBefore(state.parts, state.parts.length);
  const gap = state.space && before !== "" && before !== BREAK;
  settle(state, gap ? " " : (firstOpening(state.marks) ?? markdown[0] ?? ""));
  if (gap) state.parts.push(" ");
  state.space = false;
  for (const mark of state.marks) {
    if (mark.opened >= 0) continue;
    mark.opened = state.parts.length;
    state.parts.push(delimiters[mark.kind][0]);
  }
  state.parts.push(markdown);
}

function breakDueLine(state: State): void {
  settle(state, " ");
  state.isLineDue = false;
  state.space = false;
  state.linkLines += 1;
  state.parts.push(BREAK);
}

/** Decides on the delimiters that were closed just before `next` comes. */
function settle(state: State, next: string): void {
  for (const [n, { kind, start, end }] of state.closed.entries()) {
    settleMark(state.parts, kind, { start, end, next });
    const inner = state.closed[n - 1];
    const isBoth = inner !== undefined && isEmphasis(kind) && isEmphasis(inner.kind);
    if (isBoth && inner.start === start + 1 && inner.end === end - 1)
      settleBoth(state.parts, start, end, next);
  }
  state.closed = [];
}

function openMark(state: State, kind: MarkKind, end: string): void {
  drain(state);
  if (state.marks.some((mark) => mark.kind === kind)) return void (state.nested[kind] += 1);
  const previous = state.closed.at(-1);
  // <b>a</b><b>b</b>: the first goes on.
  const joins =
    previous?.kind === kind &&
    kind !== "link" &&
    !state.space &&
    previous.end === state.parts.length - 1;
  if (joins) {
    state.closed.pop();
    state.parts.pop();
  }
  state.marks.push({ kind, end, opened: joins ? previous.start : -1 });
}

function closeMark(state: State, kind: MarkKind): void {
  drain(state);
  if (state.nested[kind] > 0) return void (state.nested[kind] -= 1);
  const mark = state.marks.find((other) => other.kind === kind);
  if (mark === undefined) return;
  if (kind === "link") {
    state.isLineDue = false;
    state.linkLines = 0;
  }
  endMark(state, mark);
  state.marks = state.marks.filter((other) => other !== mark);
}

function endMark(state: State, mark: Mark): void {
  if (mark.opened < 0) return;
  state.closed.push({ kind: mark.kind, start: mark.opened, end: state.parts.length });
  state.parts.push(mark.end + delimiters[mark.kind][1]);
  mark.opened = -1;
}

function flush(state: State): string[] {
  drain(state);
  for (const mark of state.marks.toReversed()) endMark(state, mark);
  settle(state, " ");
  escapeBeforeLinks(state.parts);
  const joined = state.parts.join("").trim();
  state.parts = [];
  state.space = false;
  state.isLineDue = false;
  if (!joined.includes(BREAK)) return joined === "" ? [] : [joined];
  return joined.split(BREAK).map((line) => line.trim());
}

function firstOpening(marks: readonly Mark[]): string | undefined {
  const mark = marks.find(({ opened }) => opened < 0);
  if (mark === undefined) return undefined;
  return delimiters[mark.kind][0][0];
}

/** An exclamation mark before a link would make a picture of it. */
function escapeBeforeLinks(parts: string[]): void {
  let last = -1;
  for (const [n, part] of parts.entries()) {
    if (part === "") continue;
    const before = parts[last];
    if (part === "[" && before?.endsWith("!") === true) parts[last] = `${before.slice(0, -1)}\\!`;
    last = n;
  }
}

function isEmphasis(kind: MarkKind): boolean {
  return kind === "strong" || kind === "em";
}
