import { toHex } from "../../crypto/encoding.ts";
import { ApiError, invalidOptions, invalidRequest } from "../../http/api-error.ts";
import type { HeaderPair, InboundResponse, System } from "../../ports.ts";
import { actorName } from "../account/settings/gateway-name.ts";
import { ownHeaders } from "../wire/own-headers.ts";
import { keepAwake } from "../cache/exact/subscriber-count.ts";
import { watchedStream } from "../wire/watched-stream.ts";
import type {
  ResumableAnswer,
  ResumableReply,
  ResumableRuns,
  Resumption,
} from "../entry/resume-run.ts";
import { type ResumableRun, startRun } from "./run.ts";

interface Entry {
  readonly run: ResumableRun;
  readonly owner: string;
  readonly scope: string | null;
  readonly contentType: string;
}

/** The weight of a run beside its bytes. */
const RUN_OVERHEAD = 1024;
/** Milliseconds between looks at a run whose client left, at most. */
const LOOK_MS = 10_000;

/** For how long, and how much, streams are kept. */
export interface ResumeOptions {
  /** Seconds for which a stream can be resumed after its client has left. @default 330, as the hosted service */
  readonly seconds?: number | undefined;
  /** Bytes of all kept streams together; the oldest go first. @default 64 MiB */
  readonly bytes?: number | undefined;
}

/** Keeps streams for the clients that lost them (docs/gateway/streams.md). */
export function resumableRuns(options: ResumeOptions, system: System): ResumableRuns {
  const shelf = makeShelf(options, system);
  // Runs without a reader would hold up a shutdown.
  system.closing?.addEventListener("abort", () => sweep(shelf), { once: true });
  return {
    hold: (source, held) => hold(shelf, source, held),
    resume: (request) => resume(shelf, request),
  };
}

/** All runs that are kept. */
interface Shelf {
  readonly system: System;
  readonly seconds: number;
  /** Bytes that all runs together may weigh. */
  readonly capacity: number;
  /** By id. A Map keeps the order of insertion, so its first key is the oldest one. */
  readonly entries: Map<string, Entry>;
  weight: number;
}

function makeShelf(
  { seconds = 330, bytes: capacity = 64 * 1024 * 1024 }: ResumeOptions,
  system: System,
): Shelf {
  if (!(seconds > 0) || !(capacity > 0)) {
    throw invalidOptions(
      `resume: expected seconds and bytes above 0, got ${seconds} and ${capacity}`,
    );
  }
  return { system, seconds, capacity, entries: new Map(), weight: 0 };
}

function weigh(shelf: Shelf, change: number): void {
  shelf.weight += change;
  if (change < 0) return;
  for (const { run } of shelf.entries.values()) {
    if (shelf.weight <= shelf.capacity) return;
    run.forget();
  }
}

/** Drops a run to which no client came back in time. */
function review({ system, seconds }: Shelf, run: ResumableRun): void {
  const { leftAt } = run;
  if (leftAt === null) return;
  const isOver = system.closing?.aborted === true || system.monotonic() - leftAt >= seconds * 1000;
  if (isOver) run.forget();
}

function sweep(shelf: Shelf): void {
  for (const { run } of shelf.entries.values()) review(shelf, run);
}

/** While the provider sends, a run without a reader must also end in time. */
async function watchOver(shelf: Shelf, run: ResumableRun): Promise<void> {
  const ended = new AbortController();
  void run.over.then(() => ended.abort());
  const pause = Math.min(LOOK_MS, shelf.seconds * 1000);
  while (!ended.signal.aborted) {
    await shelf.system.sleep(pause, ended.signal).catch(() => undefined);
    review(shelf, run);
  }
}

function hold(
  shelf: Shelf,
  source: ReadableStream<Uint8Array>,
  held: ResumableAnswer,
): ResumableReply {
  const { system, entries } = shelf;
  const { name, abortLink, contentType, scope } = held;
  sweep(shelf);
  const runId = toHex(system.random(16));
  abortLink.detach();
  const run = startRun({
    source,
    now: () => system.monotonic(),
    onWeight: (change) => weigh(shelf, change),
    onLeft: () => review(shelf, run),
    onForget() {
      entries.delete(runId);
      weigh(shelf, -RUN_OVERHEAD);
    },
    end: (reason) => abortLink.abort(reason),
  });
  entries.set(runId, { run, owner: actorName(name), scope, contentType });
  weigh(shelf, RUN_OVERHEAD);
  system.waitUntil(watchOver(shelf, run));
  return { runId, body: untilGone(run.body, abortLink.client, system) };
}

function resume(shelf: Shelf, request: Resumption): InboundResponse {
  const { system, entries } = shelf;
  const { name, runId, from, client } = request;
  sweep(shelf);
  const found = entries.get(runId);
  if (found === undefined || found.owner !== actorName(name)) throw gone(shelf);
  // Like a run that is not there: its id is not to be guessed by the answer.
  if (found.scope !== null && found.scope !== request.scope) throw gone(shelf);
  const { run, contentType } = found;
  if (from > run.events) {
    throw invalidRequest(`from: this run has had ${run.events} events, got ${from}`);
  }
  const stopTimer = keepAwake(system);
  const stream = run.read(from, stopTimer);
  if (stream === null) {
    stopTimer();
    throw gone(shelf);
  }
  const headers = headersOf(runId, contentType);
  return { status: 200, headers, body: untilGone(stream, client, system) };
}

/** Also servers that neither read nor cancel the stream of a client that left must not hold the run. */
function untilGone(
  stream: ReadableStream<Uint8Array>,
  client: AbortSignal,
  system: System,
): ReadableStream<Uint8Array> {
  const watch = { onChunk: () => undefined, onEnd: () => undefined };
  return watchedStream(stream, watch, client, system).body;
}

function gone({ seconds }: Shelf): ApiError {
  return new ApiError("not_found", {
    message: `This run is unknown: a stream can be resumed for ${seconds} s, in the process that began it, by the caller who began it`,
  });
}

function headersOf(runId: string, contentType: string): HeaderPair[] {
  return [
    ["content-type", contentType],
    ["cache-control", "no-store"],
    ...ownHeaders("run-id", runId),
  ];
}
