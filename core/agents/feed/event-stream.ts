import type { ServerSentEvent } from "../../http/sse.ts";
import type { ActorRef } from "../../ports.ts";
import type { FeedPage } from "./read-feed.ts";

/** One wait for news. */
const POLL_MS = 5000;
/** Silent polls after which a comment is sent, so that proxies keep the connection: 15 s. */
const POLLS_PER_HEARTBEAT = 3;
/** How long a client waits before it comes back. */
const RETRY_MS = 3000;

/**
 * The events of an agent after `since` (-1 = from now on), each with its `seq` as id, until one of the signals
 * aborts: the client has left, or the server is about to. The client resumes with `Last-Event-ID`; when events in
 * between are gone, it gets an event `reset` first.
 */
export async function* eventStream(
  agent: ActorRef,
  since: number,
  signals: readonly (AbortSignal | undefined)[],
): AsyncGenerator<ServerSentEvent | string> {
  const isOver = (): boolean => signals.some((signal) => signal?.aborted === true);
  yield `retry: ${RETRY_MS}\n\n`;
  let position = since;
  let silent = 0;
  while (!isOver()) {
    const page = (await agent.call("nextEvents", position, POLL_MS)) as FeedPage;
    if (page.reset !== null) {
      const data = JSON.stringify({ oldest: page.reset });
      yield { event: "reset", id: String(page.reset - 1), data };
    }
    // Sets the client's Last-Event-ID without an event, so that nothing is lost if it leaves before the first.
    if (position < 0) yield `id: ${page.last}\n\n`;
    for (const { seq, event } of page.events) {
      if (isOver()) return;
      yield { id: String(seq), data: JSON.stringify(event) };
    }
    silent = page.events.length === 0 ? silent + 1 : 0;
    if (silent > 0 && silent % POLLS_PER_HEARTBEAT === 0) yield ": alive\n\n";
    position = page.last;
  }
}
