import { type CachedReply, lastText } from "../wire/cached-reply.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { sseData } from "../../http/sse.ts";
import { deltaOf, ends, failureOf, parsedReply, type Translation } from "./reply.ts";

/** Whether a provider's whole answer can be told to the client to its end: another one is not kept. */
export function endsWell(
  translation: Translation,
  { status, headers, chunks }: CachedReply,
): boolean {
  // Nobody asked for an encoding, and it is undone elsewhere.
  if ((headerValue(headers, "content-encoding") ?? "identity") !== "identity") return true;
  const text = lastText(chunks, Number.POSITIVE_INFINITY);
  try {
    const type = headerValue(headers, "content-type") ?? "";
    if (!/^text\/event-stream/i.test(type))
      return failureOf(translation, parsedReply(text), status, text) === null;
    const reader = translation.translator.stream(translation.chat);
    const deltas = sseData(text).map((data) => deltaOf(reader, data));
    return (
      deltas.every(({ error }) => error === undefined) &&
      deltas.some((delta) => ends(delta, reader))
    );
  } catch {
    return false;
  }
}
