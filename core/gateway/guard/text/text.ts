import { foundTexts, type FoundTexts, opaque, type Scope, structural } from "./found-texts.ts";
import { jsonDocument, type JsonDocument } from "./json-value.ts";
import { SLICE, type Slices } from "./slices.ts";

/** What was read of a body. */
export interface BodyText {
  /** Null: it has none, as sound and images. */
  readonly text: string | null;
  /** The path of a member of a JSON document that is there twice. */
  readonly duplicate: string | null;
  /** Whether it is what its declared type says, as far as that was looked at. */
  readonly isJson: boolean;
}

/** A stream under another name: as it stands its pieces would not be joined. */
const looksLikeStream = /^\uFEFF?\s*(?:data|event|id|retry)?:/;

/**
 * The text of a body, whatever provider's format it has: a JSON document, a stream of server-sent events
 * (whose deltas are joined, so that nothing hides on the border of two) or plain text. `spoken` leaves out
 * what is no part of the conversation, such as tool definitions.
 */
export function* textOf(body: string, contentType: string, scope: Scope): Slices<BodyText> {
  const isStream = contentType.toLowerCase().startsWith("text/event-stream");
  if (isStream || looksLikeStream.test(body)) {
    const found = yield* streamText(body, scope);
    if (found !== null)
      return isStream ? found : { ...found, text: `${found.text ?? ""}\n${body}` };
  }
  const document = yield* jsonDocument(body);
  if (document === null) return yield* linesOf(body, scope);
  const found = textsOf(scope);
  const isDeep = yield* collect(document, found);
  const text = isDeep ? `${found.text()}\n${body}` : found.text();
  return { text, duplicate: document.duplicate, isJson: true };
}

function textsOf(scope: Scope): FoundTexts {
  return scope === "all"
    ? foundTexts({ scope, skipped: opaque, names: true })
    : foundTexts({ scope, skipped: structural, names: false });
}

/** Takes the texts of a document; resolves to whether some of it is nested too deeply for that. */
function* collect({ value }: JsonDocument, found: FoundTexts): Slices<boolean> {
  if (value === undefined) return true;
  // Gemini streams without `alt=sse` are one array of what would be events.
  for (const message of Array.isArray(value) ? value : [value]) yield* found.collect(message);
  return false;
}

/** Null for a body without events. */
function* streamText(body: string, scope: Scope): Slices<BodyText | null> {
  // Ids of a stream come with every event.
  const found = foundTexts({ scope, skipped: structural, names: false });
  let duplicate: string | null = null;
  let isDeep = false;
  let isEmpty = true;
  for (const event of eventsOf(body)) {
    if (event === null) {
      yield;
      continue;
    }
    if (event === "[DONE]") continue;
    isEmpty = false;
    const document = yield* jsonDocument(event);
    if (document === null) found.add(event);
    else if (document.value === undefined) isDeep = true;
    else yield* found.collect(document.value);
    duplicate ??= document?.duplicate ?? null;
  }
  if (isEmpty) return null;
  const text = isDeep ? `${found.text()}\n${body}` : found.text();
  return { text, duplicate, isJson: false };
}

/** The data of every event, of one without its blank line as well; null now and then, where it is time to stop. */
function* eventsOf(stream: string): Generator<string | null, void> {
  const ends = /\r\n|\r|\n|$/g;
  let data: string[] = [];
  let rested = 0;
  for (let at = 0; at <= stream.length; at = ends.lastIndex) {
    ends.lastIndex = at;
    const end = ends.exec(stream);
    const stop = end?.index ?? stream.length;
    const line = stream.slice(at, stop);
    if (end?.[0] === "" || end === null) ends.lastIndex = stream.length + 1;
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "" && data.length > 0) {
      yield data.join("\n");
      data = [];
    }
    if (stop - rested > SLICE) {
      rested = stop;
      yield null;
    }
  }
  if (data.length > 0) yield data.join("\n");
}

/** Text, or a JSON document in each line, as batches and training data are written. */
function* linesOf(body: string, scope: Scope): Slices<BodyText> {
  const plain: BodyText = { text: body, duplicate: null, isJson: false };
  if (!/^\s*\{/.test(body)) return plain;
  const found = textsOf(scope);
  let duplicate: string | null = null;
  let isDeep = false;
  let documents = 0;
  for (let at = 0; at <= body.length;) {
    const end = body.indexOf("\n", at);
    const line = body.slice(at, end === -1 ? body.length : end);
    at = end === -1 ? body.length + 1 : end + 1;
    const document = yield* jsonDocument(line);
    if (document === null) {
      found.add(`${line}\n`);
      continue;
    }
    documents += 1;
    duplicate ??= document.duplicate;
    if (document.value === undefined) isDeep = true;
    else yield* found.collect(document.value);
    yield;
  }
  if (documents === 0) return plain;
  const text = isDeep ? `${found.text()}\n${body}` : found.text();
  return { text, duplicate, isJson: false };
}
