import { textEventEnds } from "../../../http/sse.ts";
import { isObject, jsonText, parsedJson } from "../../../http/json.ts";
import { discriminators } from "../../chat/formats/members.ts";
import { begun, type Placeholders } from "./placeholders.ts";

/** Takes a text piece by piece, and returns of each as much as can go on. */
export interface TextPass {
  push(text: string): string;
  /** Returns what was held back. */
  end(): string;
}

/** An event that waits for others, or for its turn. */
interface HeldEvent {
  readonly raw: string;
  readonly json: unknown;
  isChanged: boolean;
}

interface EventText {
  readonly event: HeldEvent;
  readonly owner: Record<string, unknown>;
  readonly name: string;
}

/** A placeholder that has begun at the end of a text, and may go on in later events. */
interface OpenPlaceholder {
  /** As far as it has come. */
  begun: string;
  /** The characters of it in the first text. */
  readonly length: number;
  readonly texts: EventText[];
}

/** Events and characters that wait for the rest of a placeholder. */
const MOST_EVENTS = 256;
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** Whether an event can hold a placeholder, or its beginning at the end of a text. */
const mayHold = /\[(?:[A-Z"\\]|$)/;
const dataLine = /^data:[^\r\n]*/gm;

/**
 * Puts values back in a stream of server-sent events. Models send a placeholder in several deltas: its events wait until
 * it is whole, or is something else.
 */
export function unmaskedEvents(names: Placeholders): TextPass {
  let waiting = "";
  let searched = 0;
  const queue: HeldEvent[] = [];
  const open = new Map<string, OpenPlaceholder>();
  const released = (isLast: boolean): string => {
    const characters = queue.reduce((sum, { raw }) => sum + raw.length, 0);
    if (isLast || queue.length > MOST_EVENTS || characters > MOST_CHARACTERS) open.clear();
    const held = new Set(Array.from(open.values(), ({ texts }) => texts[0]?.event));
    const wait = queue.findIndex((event) => held.has(event));
    return queue
      .splice(0, wait === -1 ? queue.length : wait)
      .map(written)
      .join("");
  };
  return {
    push(text) {
      waiting += text;
      // Looked through only where an event can end: a long one comes in many chunks.
      if (!/[\r\n]/.test(text) && waiting.length <= MOST_CHARACTERS) return "";
      const events: string[] = [];
      let from = 0;
      let end = textEventEnds.first(waiting, Math.max(0, searched - 2));
      for (; end !== -1; end = textEventEnds.first(waiting, end)) {
        events.push(waiting.slice(from, end));
        from = end;
      }
      waiting = waiting.slice(from);
      searched = waiting.length;
      let out = "";
      for (const raw of events) {
        if (queue.length === 0 && !mayHold.test(raw)) {
          out += raw;
          continue;
        }
        queue.push(takenEvent(raw, names, open));
        out += released(false);
      }
      if (waiting.length <= MOST_CHARACTERS) return out;
      const rest = waiting;
      waiting = "";
      searched = 0;
      return out + released(true) + names.restored(rest);
    },
    end: () => {
      const rest = waiting;
      waiting = "";
      return released(true) + names.restored(rest);
    },
  };
}

/** Puts the values of an event back, and notes what begins or goes on in it. */
function takenEvent(
  raw: string,
  names: Placeholders,
  open: Map<string, OpenPlaceholder>,
): HeldEvent {
  const lines = raw.match(dataLine) ?? [];
  const json = lines.length === 1 ? parsedJson(lines[0]?.slice(5) ?? "") : undefined;
  if (!isObject(json)) return { raw: names.restored(raw), json: null, isChanged: false };
  const event: HeldEvent = { raw, json, isChanged: false };
  for (const [key, text] of textsIn(json, marksOf(json), event)) takeText(key, text, names, open);
  return event;
}

function takeText(
  key: string,
  place: EventText,
  names: Placeholders,
  open: Map<string, OpenPlaceholder>,
): void {
  let text = textOf(place);
  const before = open.get(key);
  if (before !== undefined) {
    const joined = before.begun + text;
    if (names.isBegun(joined)) {
      before.begun = joined;
      before.texts.push(place);
      return;
    }
    open.delete(key);
    const name = names.leading(joined);
    if (name !== null) {
      const [start, ...others] = before.texts;
      if (start !== undefined)
        write(start, textOf(start).slice(0, -before.length) + names.restored(name));
      for (const one of others) write(one, "");
      text = joined.slice(name.length);
    }
  }
  text = names.restored(text);
  write(place, text);
  const [tail = ""] = begun.exec(text) ?? [];
  if (names.isBegun(tail)) open.set(key, { begun: tail, length: tail.length, texts: [place] });
}

function textOf({ owner, name }: EventText): string {
  return String(owner[name]);
}

function write({ event, owner, name }: EventText, text: string): void {
  if (owner[name] === text) return;
  owner[name] = text;
  event.isChanged = true;
}

function written({ raw, json, isChanged }: HeldEvent): string {
  return isChanged ? raw.replace(/^data:[^\r\n]*/m, () => `data: ${JSON.stringify(json)}`) : raw;
}

/** Lists the texts below a value with their places: the text of one place goes on in the next event. */
function* textsIn(
  value: unknown,
  path: string,
  event: HeldEvent,
): Generator<readonly [string, EventText]> {
  if (typeof value !== "object" || value === null) return;
  const owner = value as Record<string, unknown>;
  for (const name of Object.keys(owner)) {
    const member = owner[name];
    const marks = isObject(member) ? marksOf(member) : "";
    const key = `${path}/${marks === "" ? name : marks}`;
    if (typeof member === "string") yield [key, { event, owner, name }];
    else yield* textsIn(member, key, event);
  }
}

function marksOf(value: Record<string, unknown>): string {
  return discriminators
    .flatMap((name) => (value[name] === undefined ? [] : `${name}=${jsonText(value[name])}`))
    .join("&");
}
