import { boundedJson, isObject, type Json } from "../http/json.ts";
import { changedJson } from "../http/json/json-source.ts";
import { type JsonUnit, JsonUnits } from "../http/json/json-units.ts";
import { RESPONSE_SLICE } from "../http/body/read-soon.ts";
import { endsInResponse, modernPart, partCarries } from "./fields.ts";
import { isEnforced, type ScheduledEntry } from "./phase.ts";

/** Characters in which a field is looked for by its sign alone; a longer text is read unit by unit from there on. */
const SEARCHED = 1024 * 1024;

/** The members of the API's envelope whose records have the fields; those of a host's own table may lie anywhere. */
const RECORDS = "result";
const ERRORS = "errors";
/** The list of the envelope that takes notes. */
const MESSAGES = "messages";

/** The entries that responses of a kind can carry. */
export interface SoughtFields {
  readonly entries: readonly ScheduledEntry[];
  /** The signs of all entries: one search is several times faster than one for each. */
  readonly signs: RegExp;
}

/** The names and values that a filter looks for. */
export interface FilterParts {
  /** Either those of failures or those of all other answers. */
  readonly sought: SoughtFields;
  /** The JSON of notes that `messages` is to have, too. @default [] */
  readonly notes?: readonly string[];
  readonly now: number;
}

/**
 * Finds deprecated fields in the JSON of a response as it arrives, leaves out those that have ended, and adds notes. Until the
 * sign of one is seen nothing is parsed and no more is held back than the record that has begun.
 */
export class FieldFilter {
  /** The entries found so far. */
  readonly used: Set<ScheduledEntry> = new Set();
  readonly #entries: readonly ScheduledEntry[];
  readonly #now: number;
  /** Notes that still have no list. */
  #notes: readonly string[];
  readonly #isNoting: boolean;
  readonly #isFailure: boolean;
  readonly #signs: RegExp;
  #units: JsonUnits | undefined;
  /** All text until its units are read, in pieces; then it is needed no more. */
  #pieces: string[] = [];
  #length = 0;
  /** The last characters, in which a sign may have begun. */
  #tail = "";
  /** The end of the text, which is not passed on yet. */
  #held = "";
  /** Characters of the text that were passed on before its units were read. */
  #passed = 0;
  #skip = 0;

  constructor({ sought: { entries, signs }, notes = [], now }: FilterParts) {
    this.#entries = entries;
    this.#signs = signs;
    this.#now = now;
    this.#notes = notes;
    this.#isNoting = notes.length > 0;
    this.#isFailure = entries.some(({ where }) => where === "error response");
  }

  /** Whether a text has the sign of a field: a search, no more. */
  mayBeIn(text: string): boolean {
    return this.#signs.test(text) || (this.#isNoting && text.includes(`"${MESSAGES}"`));
  }

  /** Does the same with the bytes of a text, in slices: making one long string would cost more than the search. */
  mayBeInBytes(bytes: Uint8Array): boolean {
    const decoder = new TextDecoder();
    for (let at = 0; at < bytes.length; at += RESPONSE_SLICE) {
      // A sign may lie across the edge of a slice.
      const slice = bytes.subarray(Math.max(0, at - SEAM), at + RESPONSE_SLICE);
      if (this.mayBeIn(decoder.decode(slice))) return true;
    }
    return false;
  }

  /** Whether a field may have to leave, or a note to be added. */
  get mayChange(): boolean {
    return this.#isNoting || this.#entries.some((entry) => this.#hasEnded(entry));
  }

  /** Whether the text that has passed is another than the one that came, as far as is known. */
  get hasChanged(): boolean {
    return this.used.size > 0 || (this.#isNoting && this.#notes.length === 0);
  }

  /** Takes more text, and returns what may be passed on. */
  push(more: string): string {
    if (this.#units !== undefined) return this.#unpassed(this.#units.push(more));
    const seam = this.#tail + more.slice(0, LONGEST_SIGN);
    this.#tail = (more.length < LONGEST_SIGN ? seam : more).slice(-LONGEST_SIGN);
    this.#pieces.push(more);
    this.#length += more.length;
    this.#held += more;
    if (this.#length <= SEARCHED && !this.mayBeIn(more) && !this.mayBeIn(seam)) {
      const end = more.lastIndexOf("}");
      return end === -1 ? "" : this.#pass(this.#held.length - more.length + end + 1);
    }
    this.#skip = this.#passed;
    this.#units = new JsonUnits(
      (unit) => this.#changed(unit),
      (name, isEmpty) => this.#noted(name, isEmpty),
    );
    const text = this.#pieces.join("");
    this.#pieces = [];
    return this.#unpassed(this.#units.push(text));
  }

  /** Returns what is left when the text ends. */
  end(): string {
    return this.#units === undefined
      ? this.#pass(this.#held.length)
      : this.#unpassed(this.#units.end());
  }

  #pass(to: number): string {
    const part = this.#held.slice(0, to);
    this.#held = this.#held.slice(to);
    this.#passed += to;
    return part;
  }

  /** The units begin with what was passed on already: it is the same text. */
  #unpassed(text: string): string {
    if (this.#skip === 0) return text;
    const cut = Math.min(this.#skip, text.length);
    this.#skip -= cut;
    return text.slice(cut);
  }

  /** The notes, for the end of the list that takes them. */
  #noted(list: string, isEmpty: boolean): string {
    if (list !== MESSAGES || this.#notes.length === 0) return "";
    const text = `${isEmpty ? "" : ","}${this.#notes.join(",")}`;
    this.#notes = [];
    return text;
  }

  #hasEnded(entry: ScheduledEntry): boolean {
    return endsInResponse(entry) && isEnforced(entry, this.#now);
  }

  #changed(unit: JsonUnit): string | null {
    const changed = this.#isFailure ? this.#modernFailure(unit) : this.#modern(unit);
    const passed = this.#passed - unit.at;
    if (passed <= 0 || changed === unit.text) return changed;
    // A part that has left already cannot change any more.
    return changed?.startsWith(unit.text.slice(0, passed)) === true ? changed : unit.text;
  }

  #modern({ name, isElement, text }: JsonUnit): string | null {
    const memberName = isElement ? null : name;
    const named = memberName === null ? text : `${JSON.stringify(memberName)}:${text}`;
    if (!this.mayBeIn(named)) return text;
    const json = boundedJson(text);
    let part = json;
    for (const entry of this.#entries) {
      if (!isSearched(entry, name) || !hasSign(entry, named)) continue;
      // The name of a member may be the field.
      const whole = entry.isServed && memberName !== null ? { [memberName]: part } : part;
      const modern = this.#modernPart(entry, whole);
      if (whole === part) part = modern;
      else if (isObject(modern) && Object.hasOwn(modern, memberName ?? ""))
        part = modern[memberName ?? ""];
      else return null;
    }
    return part === json ? text : changedJson(text, json, part);
  }

  /** Changes an error of a failure; several may take its place. */
  #modernFailure({ name, isElement, text }: JsonUnit): string {
    const error =
      isElement && name === ERRORS && this.mayBeIn(text) ? boundedJson(text) : undefined;
    if (!isObject(error)) return text;
    let list: readonly Json[] = [error];
    for (const entry of this.#entries) {
      if (!partCarries(entry, list)) continue;
      this.used.add(entry);
      const { modernErrors } = entry;
      if (modernErrors !== undefined && this.#hasEnded(entry)) list = list.flatMap(modernErrors);
    }
    return changedJson(`[${text}]`, [error], list).slice(1, -1);
  }

  #modernPart(entry: ScheduledEntry, part: unknown): unknown {
    if (!partCarries(entry, part)) return part;
    this.used.add(entry);
    return this.#hasEnded(entry) ? modernPart(entry, part) : part;
  }
}

function isSearched({ isServed }: ScheduledEntry, name: string | null): boolean {
  return isServed === true || name === RECORDS;
}

/** Compiles the pattern of entries. Without any it finds nothing. */
export function soughtFields(entries: readonly ScheduledEntry[]): SoughtFields {
  const signs = new Set(entries.flatMap(signsOf));
  return { entries, signs: new RegExp([...signs].map(escaped).join("|") || "(?!)") };
}

/** Signs are quoted names: a longer one is looked for by its end. */
const LONGEST_SIGN = 128;
/** The most bytes of a sign in UTF-8. */
const SEAM = 3 * LONGEST_SIGN;

/** Whether a text can hold the field of an entry: a search, no more. */
function hasSign(entry: ScheduledEntry, text: string): boolean {
  return signsOf(entry).some((sign) => text.includes(sign));
}

function signsOf({ sign, fields }: ScheduledEntry): readonly string[] {
  return sign === undefined ? fields.map((field) => `${field.split(".").at(-1) ?? ""}"`) : [sign];
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
