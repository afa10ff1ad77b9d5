import { eventData, linesIn } from "../../../http/sse.ts";
import { textCollector } from "./found-texts.ts";
import type { Scope } from "./json-texts.ts";
import { isDue, type WorkMeter, workMeter, type Slices, STEP } from "./slices.ts";

export interface BodyText {
  /** Null for bodies without text, such as sound and images. */
  readonly text: string | null;
  /** The path of a member of a JSON document that is there twice. */
  readonly duplicate: string | null;
  /** Whether it is what its declared type says, as far as that was looked at. */
  readonly isJson: boolean;
}

/** A stream under another name: as it stands its pieces would not be joined. */
const looksLikeStream = /^\uFEFF?\s{0,4096}(?:data|event|id|retry)?:/;

/**
 * Reads the text of a body in any provider's format: a JSON document, a stream of server-sent events or plain text. The
 * deltas of a stream are joined, so that nothing hides on the border of two. `spoken` leaves out everything outside of the
 * conversation, such as tool definitions.
 */
export function* readJsonText(
  body: string,
  contentType: string,
  scope: Scope,
  counted: WorkMeter = workMeter(),
): Slices<BodyText> {
  const isStream = contentType.toLowerCase().startsWith("text/event-stream");
  if (isStream || looksLikeStream.test(body)) {
    const found = yield* streamText(body, scope, counted);
    if (found !== null)
      return isStream ? found : { ...found, text: `${found.text ?? ""}\n${body}` };
  }
  // Gemini streams without `alt=sse` are one array of their events.
  const found = textCollector({ scope, structure: scope === "all", isList: true }, counted);
  if (!(yield* found.collect(body))) return yield* linesOf(body, scope, counted);
  return { text: yield* found.text(body), duplicate: found.duplicate(), isJson: true };
}

/** Null for a body without events. */
function* streamText(body: string, scope: Scope, counted: WorkMeter): Slices<BodyText | null> {
  // Ids of a stream come with every event.
  const found = textCollector({ scope, structure: false }, counted);
  let isEmpty = true;
  for (const event of eventData(body, (work) => isDue(counted, STEP + work))) {
    if (event === null) {
      yield;
      continue;
    }
    if (event === "[DONE]") continue;
    isEmpty = false;
    if (!(yield* found.collect(event))) found.add(event);
  }
  if (isEmpty) return null;
  return { text: yield* found.text(body), duplicate: found.duplicate(), isJson: false };
}

/** Text, or a JSON document in each line, as batches and training data are written. */
function* linesOf(body: string, scope: Scope, counted: WorkMeter): Slices<BodyText> {
  const plain: BodyText = { text: body, duplicate: null, isJson: false };
  if (!/^\s{0,4096}\{/.test(body)) return plain;
  const found = textCollector({ scope, structure: scope === "all" }, counted);
  let documents = 0;
  for (const line of linesIn(body, /\n/g)) {
    if (isDue(counted, STEP)) yield;
    if (yield* found.collect(line)) documents += 1;
    else found.add(`${line}\n`);
  }
  if (documents === 0) return plain;
  return { text: yield* found.text(body), duplicate: found.duplicate(), isJson: false };
}
