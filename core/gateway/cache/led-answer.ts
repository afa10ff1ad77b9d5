import type { InboundResponse, StreamEnd, System } from "../../ports.ts";
import type { CacheLead } from "./flight.ts";
import { watchedStream } from "../watched-stream.ts";

/** Whom an answer is brought to beside the client that leads. */
export interface Keeping {
  readonly lead: CacheLead;
  /** The leader's client; the call itself has the lead's signal. */
  readonly client: AbortSignal;
}

/** Who watches a led answer. */
export interface LedWatch {
  /** Sees what the provider sends, also when only others still read. */
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Told, once, how the provider's stream ended, or else how the leader's client did. */
  readonly onEnd: (end: StreamEnd) => void;
  readonly system: System;
}

/** The leader's part in an answer that is kept, and followed by others, if it can be. */
export function ledAnswer(
  answer: InboundResponse,
  { lead, client }: Keeping,
  { onChunk, onEnd, system }: LedWatch,
): InboundResponse {
  const { status, body } = answer;
  // A cookie is meant for one client.
  const headers = answer.headers.filter(
    ([name]) => name !== "set-cookie" && name !== "set-cookie2",
  );
  const isShared = status < 300 && status !== 206;
  if (!isShared) lead.nothing();
  if (!(body instanceof ReadableStream)) {
    if (isShared) lead.keep({ status, headers }, body);
    if (body !== null) onChunk(body);
    onEnd("complete");
    return answer;
  }
  const ends: StreamEnd[] = [];
  const ended = (end: StreamEnd): void => {
    if (ends.push(end) < 2) return;
    const other = ends.find((one) => one !== "complete") ?? "complete";
    onEnd(ends.includes("broken") ? "broken" : other);
  };
  const own = isShared ? lead.share({ status, headers }, body, { onChunk, onEnd: ended }) : body;
  if (!isShared) ends.push("complete");
  const passing = { onChunk: isShared ? () => undefined : onChunk, onEnd: ended };
  return { ...answer, body: watchedStream(own, passing, client, system) };
}
