import { jsonReader, nextToken, skipContainer } from "./json-reader.ts";

/**
 * A part of a JSON text that is looked at by itself: a member of the outermost object, or an element of a list that is the
 * outermost value or such a member.
 */
export interface JsonUnit {
  /** The member's name; null in an outermost list. */
  readonly name: string | null;
  readonly isElement: boolean;
  /** The JSON of the value. */
  readonly text: string;
  /** The place of the value (for a member: of its name) in the whole text, in characters. */
  readonly at: number;
}

/** Returns the JSON to write for a unit, for an element also several with commas; null leaves a member out. */
export type ChangeUnit = (unit: JsonUnit) => string | null;

/** Returns the JSON to write at the end of a member's list, with its commas. */
export type EndList = (name: string, isEmpty: boolean) => string;

/** Characters of one unit; a longer one passes as it is, and with it what follows one that is not whole at that length. */
const UNIT_LIMIT = 1024 * 1024;
/** Characters of a unit up to which each chunk has it read again. */
const READ_AGAIN = 16 * 1024;

/**
 * Changes a JSON text as it arrives: each unit is written once it is whole, and all between them as it came. Text that is not
 * JSON passes.
 */
export class JsonUnits {
  readonly #change: ChangeUnit;
  readonly #endList: EndList;
  /** Text that waits for the rest of its unit. */
  #waiting = "";
  #place: "start" | "object" | "list" | "rest" = "start";
  /** The member whose list this is; undefined outside a list. */
  #list: string | null | undefined;
  /** Characters before those that wait. */
  #before = 0;
  #members = 0;
  #elements = 0;
  /** Length at which waiting text is looked at again, so that a long unit in many chunks is not read as often. */
  #retry = 0;

  constructor(change: ChangeUnit, endList: EndList = () => "") {
    this.#endList = endList;
    this.#change = (unit) => (unit.text.length > UNIT_LIMIT ? unit.text : change(unit));
  }

  /** Takes more text, and returns what may be passed on. */
  push(more: string): string {
    this.#waiting += more;
    if (this.#place !== "rest" && this.#waiting.length < this.#retry) return "";
    let written = "";
    let at = 0;
    for (let step = this.#next(at); step !== null; step = this.#next(at)) {
      written += step.text;
      at = step.at;
    }
    this.#waiting = this.#waiting.slice(at);
    this.#before += at;
    const { length } = this.#waiting;
    this.#retry = length < READ_AGAIN ? 0 : length * 1.25;
    return this.#place === "rest" || length > UNIT_LIMIT ? written + this.end() : written;
  }

  /** Returns what is left: the end of the text, or what was never a unit. */
  end(): string {
    const rest = this.#waiting;
    this.#waiting = "";
    this.#place = "rest";
    return rest;
  }

  #next(at: number): Step | null {
    if (this.#place === "rest") return null;
    return this.#place === "start" ? this.#begin() : this.#step(this.#waiting, at);
  }

  #begin(): Step | null {
    const reader = jsonReader(this.#waiting);
    const token = nextToken(reader);
    if (token !== "{" && token !== "[") return null;
    this.#place = token === "{" ? "object" : "list";
    this.#list = token === "{" ? undefined : null;
    return { text: this.#waiting.slice(0, reader.at), at: reader.at };
  }

  /** Reads the next unit or the end of the object or list; null as long as it is not whole. */
  #step(text: string, from: number): Step | null {
    const start = behindComma(text, from);
    const code = text.charCodeAt(start);
    if (code === CLOSE || code === CLOSE_LIST) return this.#close(text, from, start + 1);
    return this.#place === "object"
      ? this.#member(text, from, start)
      : this.#element(text, from, start);
  }

  #close(text: string, from: number, at: number): Step {
    const list = this.#place === "list" ? this.#list : null;
    this.#place = typeof list === "string" ? "object" : "rest";
    this.#list = undefined;
    const added = typeof list === "string" ? this.#endList(list, this.#elements === 0) : "";
    return { text: added + text.slice(from, at), at };
  }

  #member(text: string, from: number, start: number): Step | null {
    const reader = jsonReader(text, start, { inObject: true });
    if (nextToken(reader) !== "name") return null;
    const name = String(JSON.parse(text.slice(reader.start, reader.at)));
    const token = nextToken(reader);
    const valueAt = reader.start;
    const place = { name, isElement: false, at: this.#before + from };
    const isDropped = (json: string): boolean => this.#change({ ...place, text: json }) === null;
    if (token === "[" && !isDropped("[]")) {
      this.#place = "list";
      this.#list = name;
      this.#elements = 0;
      return { text: this.#gap(text.slice(from, reader.at)), at: reader.at };
    }
    if (!isWhole(reader, token)) return null;
    const changed = this.#change({ ...place, text: text.slice(valueAt, reader.at) });
    if (changed === null) return { text: "", at: reader.at };
    return { text: this.#gap(text.slice(from, valueAt)) + changed, at: reader.at };
  }

  #element(text: string, from: number, start: number): Step | null {
    const reader = jsonReader(text, start);
    if (!isWhole(reader, nextToken(reader))) return null;
    const unit = text.slice(start, reader.at);
    const place = { name: this.#list ?? null, isElement: true, at: this.#before + start };
    const changed = this.#change({ ...place, text: unit }) ?? unit;
    this.#elements++;
    return { text: text.slice(from, start) + changed, at: reader.at };
  }

  /** The text before a member that stays: the first one has no comma before it. */
  #gap(text: string): string {
    this.#members++;
    return this.#members === 1 ? text.replace(/^(\s*),/, "$1") : text;
  }
}

interface Step {
  readonly text: string;
  /** Place behind what was read. */
  readonly at: number;
}

const COMMA = 44;
const CLOSE = 125;
const CLOSE_LIST = 93;

/** The place behind blanks and one comma. */
function behindComma(text: string, from: number): number {
  let at = behindBlanks(text, from);
  if (text.charCodeAt(at) === COMMA) at = behindBlanks(text, at + 1);
  return at;
}

function behindBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
}

/** Whether a value ends within the text, behind which the reader then is. A number may go on in the next chunk. */
function isWhole(
  reader: ReturnType<typeof jsonReader>,
  token: ReturnType<typeof nextToken>,
): boolean {
  if (token === "{" || token === "[") return skipContainer(reader);
  return (
    token === "string" || token === "word" || (token === "number" && reader.at < reader.text.length)
  );
}
