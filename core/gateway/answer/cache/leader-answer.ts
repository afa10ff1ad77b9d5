import type { InboundResponse, StreamEnd, System } from "../../../ports.ts";
import type { Leader } from "./shared-call.ts";
import { watchedStream } from "../../wire/watched-stream.ts";

/** The leader of a shared call, and its client. */
export interface Leadership {
  readonly leader: Leader;
  /** The leader's client. The call to the provider uses the leader's signal instead. */
  readonly client: AbortSignal;
}

/** Watches the answer of a leader. */
export interface LeaderWatch {
  /** Called with every chunk of the provider, also when only followers still read. */
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Called once with how the provider's stream ended, or how the leader's client did. */
  readonly onEnd: (end: StreamEnd) => void;
  readonly system: System;
}

/** The answer for the leader's client. A shareable one is kept, and streamed to the followers. */
export function leaderAnswer(
  answer: InboundResponse,
  { leader, client }: Leadership,
  { onChunk, onEnd, system }: LeaderWatch,
): InboundResponse {
  const { status, body } = answer;
  // A cookie is meant for one client.
  const headers = answer.headers.filter(
    ([name]) => name !== "set-cookie" && name !== "set-cookie2",
  );
  const isShared = status < 300 && status !== 206;
  if (!isShared) leader.nothing();
  if (!(body instanceof ReadableStream)) {
    if (isShared) leader.keep({ status, headers }, body);
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
  const own = isShared ? leader.share({ status, headers }, body, { onChunk, onEnd: ended }) : body;
  if (!isShared) ends.push("complete");
  const passing = { onChunk: isShared ? () => undefined : onChunk, onEnd: ended };
  return { ...answer, body: watchedStream(own, passing, client, system) };
}
