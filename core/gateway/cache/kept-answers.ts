import { whenReady } from "../../work/now-or-later.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { System, InboundResponse, StreamEnd } from "../../ports.ts";
import type { Answers, Flow, PassingAnswer, StepRun } from "../call/answers.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { cacheKey, cacheTtl } from "./exact/cache-key.ts";
import { unpackedReply } from "./exact/packed-reply.ts";
import { type CacheLookup, replay, type ReplyCache } from "./exact/reply-cache.ts";
import type { Leader } from "./exact/shared-call.ts";
import type { StoredReplies } from "./exact/stored-replies.ts";
import type { SemanticCache } from "./similar-answers.ts";
import { watchedStream } from "../wire/watched-stream.ts";
import { failureOfEvents, reportsFailure } from "../chat/failures/told-failure.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { type CachedReply, lastText } from "../wire/cached-reply.ts";

export interface KeptAnswersParts {
  readonly system: System;
  /** Answers that this process holds. */
  readonly cache: ReplyCache;
  /** Answers beyond this process. @default none */
  readonly replies?: StoredReplies | undefined;
  /** Finds answers to questions in other words. @default none */
  readonly semantic?: SemanticCache | undefined;
}

/**
 * Answers steps whose answer may be kept: from memory, from the database, from a question in other words, or together
 * with identical requests (single-flight). All other steps are asked.
 */
export function keptAnswers(parts: KeptAnswersParts): Answers {
  const { cache, system } = parts;
  const answer = (run: StepRun, flow: Flow, key: string | null, ttl: number) => {
    if (key === null) return flow.ask(run);
    const kept = cache.kept(key);
    return kept === null ? shared(run, flow, parts, { key, ttl }) : flow.serve(run, replay(kept));
  };
  return (run, flow) => {
    const ttl = cacheTtl(run.call);
    if (ttl === 0) return flow.ask(run);
    return whenReady(cacheKey(run, system), (key) => answer(run, flow, key, ttl));
  };
}

interface KeptPlace {
  readonly key: string;
  readonly ttl: number;
}

/** Answers a step whose answer may be kept, and is not in memory. */
async function shared(
  run: StepRun,
  flow: Flow,
  parts: KeptAnswersParts,
  { key, ttl }: KeptPlace,
): Promise<Forwarded> {
  const { call, checks } = run;
  const { cache, replies, semantic } = parts;
  const stored = cache.has(key) ? undefined : await replies?.find(call.name, key, call.signal);
  if (stored !== undefined && stored !== null) {
    // Another request may have brought it to memory meanwhile, or a newer one.
    if (!cache.has(key)) cache.put(key, stored);
    return flow.serve(run, replay(unpackedReply(stored.packed)));
  }
  // A check that let one text pass may not let the other pass, nor may the embedder see it before.
  if (semantic !== undefined && checks === null && !cache.has(key)) {
    const near = await semantic.find(run, key, ttl);
    if (near !== null) {
      const { similarity } = near;
      return { ...(await flow.serve(run, replay(near.reply))), similarity };
    }
  }
  const found = await lookup(run, flow, parts, { key, ttl });
  if (found === null) return afterWait(run, flow);
  if ("hit" in found) return flow.serve(run, replay(found.hit));
  if ("follow" in found) return flow.serve(run, found.follow);
  return "leader" in found ? askAsLeader(run, flow, found.leader, parts) : flow.ask(run);
}

/** Looks for an answer that is cached, or about to be; null when the request was aborted while it waited. */
function lookup(
  { call, prepared }: StepRun,
  flow: Flow,
  { cache, replies }: KeptAnswersParts,
  { key, ttl }: KeptPlace,
): Promise<CacheLookup | null> {
  return cache
    .lookup(key, ttl, call.signal, {
      // As for an answer of its own.
      maxWait: flow.maxWait(call),
      isSound: (reply) => isSuccess(reply) && prepared.isRestorable?.(reply) !== false,
      onKept: (reply) => replies?.keep(call.name, key, reply),
    })
    .catch(() => null);
}

/** Continues after an attempt that ended while it waited as a follower. */
function afterWait(run: StepRun, flow: Flow): Promise<Forwarded> {
  const failure = run.call.signal.aborted
    ? new TransportError("aborted", "The client went away")
    : new TransportError("late", "The identical request has no answer yet");
  return flow.askAgain(run, failure);
}

/** Asks as the leader of identical requests: the call goes on without its client while a follower waits. */
async function askAsLeader(
  run: StepRun,
  flow: Flow,
  leader: Leader,
  { system }: KeptAnswersParts,
): Promise<Forwarded> {
  const { call, prepared } = run;
  const { signal } = leader;
  const led: StepRun = {
    ...run,
    call: { ...call, signal },
    prepared: { ...prepared, request: { ...prepared.request, signal } },
  };
  const leadership = { leader, client: call.signal };
  try {
    return await flow.ask(led, (answer, watch) =>
      leaderAnswer(answer, leadership, { ...watch, system }),
    );
  } catch (error) {
    leader.nothing();
    throw error;
  }
}

/** The leader of a shared call, and its client. */
export interface Leadership {
  readonly leader: Leader;
  /** The leader's client. The call to the provider uses the leader's signal instead. */
  readonly client: AbortSignal;
}

export interface LeaderWatch {
  /** Called with every chunk of the provider, also when only followers still read. */
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Called once with how the provider's stream ended, or how the leader's client did. */
  readonly onEnd: (end: StreamEnd) => void;
  readonly system: System;
}

/** Returns the answer for the leader's client. A shareable one is kept, and streamed to the followers. */
export function leaderAnswer(
  answer: InboundResponse,
  { leader, client }: Leadership,
  { onChunk, onEnd, system }: LeaderWatch,
): PassingAnswer {
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
    return { answer, breakOff: null };
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
  const { body: copy, breakOff } = watchedStream(own, passing, client, system);
  const all = isShared ? { stop: (reason: Error) => leader.stop(reason) } : {};
  return { answer: { ...answer, body: copy }, breakOff, ...all };
}

/** Characters at the end of a stream that are looked at: an error is the last that a provider says. */
const END = 64 * 1024;

/**
 * Whether a whole answer with a status of success reports no failure. Providers report some failures with such a status,
 * mostly in streams that had begun; these answers are not cached. Encoded answers, and types other than JSON, count as
 * successes.
 */
function isSuccess(reply: CachedReply): boolean {
  if ((headerValue(reply.headers, "content-encoding") ?? "identity") !== "identity") return true;
  const type = (headerValue(reply.headers, "content-type") ?? "").toLowerCase();
  if (type.startsWith("text/event-stream")) {
    return failureOfEvents(lastText(reply.chunks, END)) === null;
  }
  // The header of a frame that ends a stream of Amazon's (Smithy's specification "Amazon Event Stream").
  if (type.startsWith("application/vnd.amazon.eventstream"))
    return !lastText(reply.chunks, END).includes(":exception-type");
  if (!/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return true;
  return !reportsFailure(lastText(reply.chunks, Number.POSITIVE_INFINITY));
}
