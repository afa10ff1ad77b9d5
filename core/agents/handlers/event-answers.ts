import { BoundedSet } from "../../work/bounded-map.ts";
import type { EventAnswer } from "../../entity/event.ts";
import { bodyUpTo } from "../../http/stream.ts";
import type { NowOrLater } from "../../work/now-or-later.ts";

/** Bytes of an answer to a sender: it is stored with the event. */
const BODY_LIMIT = 65_536;
/** Jobs that are remembered because their senders have left before they began. */
const REMEMBERED = 1000;

/** Answers of handlers to the senders of events, while those wait for them. */
export interface EventAnswers {
  /** Runs work during which a sender waits for the answer to a job; resolves to what became of it. */
  during(job: string, work: () => Promise<void>): Promise<Outcome>;
  /** The sender of a job's event waits no longer. */
  giveUp(job: string): void;
  /** Reads what a handler returned, if it is a response and its sender waits for it; null for anything else. */
  read(job: string, returned: unknown): NowOrLater<EventAnswer | null>;
}

type Outcome = EventAnswer | { readonly dropped: string } | null;

export function eventAnswers(): EventAnswers {
  const awaited = new Map<string, Outcome>();
  const left = new BoundedSet<string>(REMEMBERED);
  return {
    async during(job, work) {
      awaited.set(job, null);
      try {
        await work();
        return awaited.get(job) ?? null;
      } finally {
        awaited.delete(job);
        left.delete(job);
      }
    },
    giveUp(job) {
      left.add(job);
    },
    read(job, returned) {
      if (!isResponse(returned) || !awaited.has(job)) return null;
      return answerOf(returned).then((answer) => {
        const outcome = left.has(job) ? { dropped: "it came after the sender's limit" } : answer;
        awaited.set(job, outcome);
        return "dropped" in outcome ? null : outcome;
      });
    },
  };
}

/** By its tag: a server of Node may have put a class of its own in the place of the global one. */
function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === "[object Response]";
}

/** A status from 500 on would be repeated to each later delivery of an event that is handled. */
async function answerOf(response: Response): Promise<EventAnswer | { readonly dropped: string }> {
  const { body, headers, status } = response;
  if (status > 499) return { dropped: `its status ${status} is above 499` };
  const bytes = await bodyUpTo(body, BODY_LIMIT);
  if (bytes === null) return { dropped: `its body is over ${BODY_LIMIT} bytes` };
  return { status, type: headers.get("content-type"), body: new TextDecoder().decode(bytes) };
}
