import type { TextBudget } from "../../../files/text-budget.ts";
import type { DocumentText } from "../../read/file-reader.ts";
import { MAX_LEVELS, TOO_DEEP } from "../../read/html-text.ts";
import { refused } from "../../read/refused.ts";
import { endStory, type Layout, type RtfStory, rtfStory, takeLayout } from "./rtf-story.ts";
import { type RtfToken, rtfTokens } from "./rtf-tokens.ts";
import { withoutSoftHyphens } from "../../read/soft-hyphens.ts";
import { codePageCharset, fontCharset } from "./rtf-charsets.ts";

/** A group: its settings end with it. */
interface Group {
  /** The place of its text; text of `skipped` is not read. */
  readonly target: "text" | "skipped" | "fonts" | "styles";
  /** Bytes that stand for a sign of `\u` where a program does not know it. */
  blanks: number;
  charset: string;
  isHidden: boolean;
  readonly ended: (() => void) | undefined;
}

/** Groups whose text is not shown, or is shown elsewhere. */
const SKIPPED: ReadonlySet<string> = new Set(
  "colortbl info pict filetbl listtext pntext objdata nonshppict shprslt xe tc rxe nonesttables fldinst".split(
    " ",
  ),
);
/** Groups that begin with `\*` and are read nevertheless: older programs do not know them. */
const KNOWN: ReadonlySet<string> = new Set([
  "annotation",
  "atnauthor",
  "footnote",
  "shpinst",
  "shppict",
]);
/** Signs before it control a device. */
const FIRST_SIGN = 32;
/** Properties of a drawing that are texts for readers, and what stands before them. */
const PROPERTIES: ReadonlyMap<string, string> = new Map([
  ["gtextUNICODE", ""],
  ["wzDescription", "Picture: "],
]);
const MARGINS = /^(?:header|footer)[lrf]?$/u;
const SIGNS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "~": " ",
    _: "-",
    tab: " ",
    line: "\n",
    lbr: "\n",
    emdash: "—",
    endash: "–",
    bullet: "•",
    lquote: "‘",
    rquote: "’",
    ldblquote: "“",
    rdblquote: "”",
    emspace: " ",
    enspace: " ",
    qmspace: " ",
    nestcell: " ",
    nestrow: "; ",
  }),
);

interface State extends Layout {
  readonly groups: Group[];
  readonly stories: RtfStory[];
  readonly margins: Set<string>;
  readonly fonts: Map<number, string | null>;
  /** The charset of fonts that name none. */
  charset: string;
  /** Levels of headings by the numbers of their styles. */
  readonly levels: Map<number, number>;
  /** The font or style that is declared. */
  declared: number;
  declaredName: string;
  bytes: number[];
  readonly decoders: Map<string, TextDecoder>;
  /** Bytes to pass over behind a `\u`. */
  passing: number;
  /** Whether the group has just begun, with `\*`. */
  isOptional: boolean;
  author: string;
  /** The property of a drawing whose value comes next. */
  property: string;
}

/** Returns the text of a Rich Text Format document: headings, paragraphs, items and tables in their order, with notes and comments. */
export function* rtfText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const body = rtfStory();
  const state: State = {
    budget,
    groups: [
      { target: "text", blanks: 1, charset: "windows-1252", isHidden: false, ended: undefined },
    ],
    stories: [body],
    margins: new Set(),
    fonts: new Map(),
    charset: "windows-1252",
    levels: new Map(),
    declared: 0,
    declaredName: "",
    bytes: [],
    decoders: new Map(),
    passing: 0,
    isOptional: false,
    author: "",
    property: "",
  };
  yield* rtfTokens(bytes, (token) => take(state, token));
  flush(state);
  endStory(body, budget);
  // Page numbers alone say nothing.
  const margins = [...state.margins].filter((text) => /\p{L}/u.test(text));
  return { text: [...body.blocks, ...margins].join("\n\n").toWellFormed() };
}

function take(state: State, token: RtfToken): void {
  const group = current(state);
  if (token.kind === "byte") {
    if (state.passing > 0) state.passing--;
    else if (group.target !== "skipped" && !group.isHidden) state.bytes.push(token.byte);
    state.isOptional = false;
    return;
  }
  if (token.kind === "word" && state.passing > 0) return void state.passing--;
  flush(state);
  if (token.kind === "word") return takeWord(state, group, token.word, token.value);
  state.passing = 0;
  state.isOptional = false;
  if (token.kind === "open") {
    if (state.groups.push({ ...group, ended: undefined }) > MAX_LEVELS) throw refused(TOO_DEEP);
  } else if (state.groups.length > 1) state.groups.pop()?.ended?.();
}

function current({ groups }: State): Group {
  const group = groups.at(-1);
  if (group === undefined) throw refused("the file is damaged");
  return group;
}

/** Adds the bytes before a word or a group, decoded as their font says. */
function flush(state: State): void {
  if (state.bytes.length === 0) return;
  const { target, charset } = current(state);
  const bytes = Uint8Array.from(state.bytes);
  state.bytes = [];
  const decoder = state.decoders.get(charset) ?? new TextDecoder(charset);
  state.decoders.set(charset, decoder);
  add(state, target, decoder.decode(bytes));
}

function add(state: State, target: Group["target"], text: string): void {
  if (target === "text") {
    state.budget.take(text.length);
    const last = state.stories.at(-1);
    if (last !== undefined) last.text += withoutSoftHyphens(text);
  } else if (target === "styles") declareStyle(state, text);
}

/** A style's name ends with a semicolon. */
function declareStyle(state: State, text: string): void {
  state.declaredName = `${state.declaredName}${text}`.slice(-100);
  const level = /^\s*(?:heading ([1-6])|(title));/iu.exec(state.declaredName);
  if (level !== null)
    state.levels.set(state.declared, level[1] === undefined ? 1 : Number(level[1]));
  if (text.endsWith(";")) state.declaredName = "";
}

function takeWord(state: State, group: Group, word: string, value: number | null): void {
  const isOptional = state.isOptional;
  state.isOptional = word === "*";
  if (group.target === "skipped" || word === "*") return;
  if (SKIPPED.has(word) || (isOptional && !KNOWN.has(word))) return enter(state, "skipped");
  if (word === "fonttbl") enter(state, "fonts");
  else if (word === "stylesheet") enter(state, "styles");
  else if (group.target === "fonts") declareFont(state, word, value);
  else if (group.target === "styles") declareLevel(state, word, value);
  else if (!takeSign(state, group, word, value) && !takeSetting(state, group, word, value)) {
    if (!takeStory(state, word)) takeLayout(state, word, value);
  }
}

/** Takes a word that stands for a sign. Returns whether it does. */
function takeSign(state: State, group: Group, word: string, value: number | null): boolean {
  const isNumber = word === "u" && value !== null;
  if (!isNumber && !SIGNS.has(word)) return false;
  if (isNumber) state.passing = group.blanks;
  const code = isNumber ? value & 0xffff : 0;
  const sign = SIGNS.get(word) ?? (code < FIRST_SIGN ? "" : String.fromCharCode(code));
  if (!group.isHidden) add(state, "text", sign);
  return true;
}

function declareLevel(state: State, word: string, value: number | null): void {
  if (value === null) return;
  if (word === "s") [state.declared, state.declaredName] = [value, ""];
  else if (word === "outlinelevel" && value < 6) state.levels.set(state.declared, value + 1);
}

function declareFont(state: State, word: string, value: number | null): void {
  if (word === "f" && value !== null) state.declared = value;
  else if (word === "fcharset" && value !== null)
    state.fonts.set(state.declared, fontCharset(value));
}

/** Takes a setting of the group's text. Returns whether it is one. */
function takeSetting(state: State, group: Group, word: string, value: number | null): boolean {
  if (word === "uc") group.blanks = Math.min(16, Math.max(0, value ?? 1));
  else if (word === "ansicpg" || word === "mac") {
    state.charset = codePageCharset(word === "mac" ? 10_000 : (value ?? 1252));
    group.charset = state.charset;
  } else if (word === "f") group.charset = state.fonts.get(value ?? 0) ?? state.charset;
  else if (word === "v" || word === "deleted") group.isHidden = value !== 0;
  else if (word === "plain") group.isHidden = false;
  else return false;
  return true;
}

/** Begins a text of its own. Returns whether the word does. */
function takeStory(state: State, word: string): boolean {
  if (word === "footnote") beginStory(state, (text) => behind(state, `Note: ${text}`));
  else if (word === "annotation")
    beginStory(state, (text) => {
      const by = state.author === "" ? "" : ` by ${state.author}`;
      behind(state, `Comment${by}: ${text}`);
    });
  else if (word === "atnauthor") beginStory(state, (text) => void (state.author = text));
  else if (word === "shptxt") beginStory(state, (text) => behind(state, text));
  else if (word === "sn") beginStory(state, (text) => void (state.property = text));
  else if (word === "sv")
    beginStory(state, (text) => {
      const label = PROPERTIES.get(state.property);
      if (label !== undefined) behind(state, `${label}${text}`);
    });
  else if (MARGINS.test(word)) beginStory(state, (text) => void state.margins.add(text));
  else return false;
  return true;
}

function behind({ stories }: State, text: string): void {
  stories.at(-1)?.behind.push(text);
}

/** Replaces the group by one whose text goes elsewhere. */
function enter({ groups }: State, target: Group["target"], ended?: () => void): void {
  const group = groups.pop();
  if (group !== undefined) groups.push({ ...group, target, ended });
}

function beginStory(state: State, ended: (text: string) => void): void {
  state.stories.push(rtfStory());
  enter(state, "text", () => {
    const own = state.stories.length > 1 ? state.stories.pop() : undefined;
    if (own === undefined) return;
    endStory(own, state.budget);
    const text = own.blocks.join(" ");
    if (text !== "") ended(text);
  });
}
