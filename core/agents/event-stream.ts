import type { ServerSentEvent } from "../http/sse.ts";
import type { ActorRef } from "../ports.ts";
import type { FeedPage } from "./live.ts";

/** One wait for news; short, because a shutdown waits for it. */
const POLL_MS = 5000;
/** Silent polls after which a comment is sent, so that proxies keep the connection: 15 s. */
const POLLS_PER_HEARTBEAT = 3;
/** How long a client waits before it comes back. */
const RETRY_MS = 3000;

/**
 * The events of an agent after `since` (-1 = from now on), each with its `seq` as id, for ever. The client
 * resumes with `Last-Event-ID`; when events in between are gone, it gets an event `reset` first.
 */
export async function* eventStream(
  agent: ActorRef,
  since: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent | string> {
  yield `retry: ${RETRY_MS}\n\n`;
  let position = since;
  let silent = 0;
  while (!signal.aborted) {
    const page = (await agent.call("nextEvents", position, POLL_MS)) as FeedPage;
    if (page.reset !== null) yield { event: "reset", data: JSON.stringify({ oldest: page.reset }) };
    for (const { seq, event } of page.events)
      yield { id: String(seq), data: JSON.stringify(event) };
    silent = page.events.length === 0 ? silent + 1 : 0;
    if (silent > 0 && silent % POLLS_PER_HEARTBEAT === 0) yield ": alive\n\n";
    position = page.last;
  }
}
