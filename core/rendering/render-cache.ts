import * as v from "valibot";
import { utf8 } from "../crypto/encoding.ts";
import { invalidRequest } from "../http/api-error.ts";
import { longResponse } from "../http/long-response.ts";
import { responseNote } from "../http/response-note.ts";
import type { System } from "../ports.ts";

/** The answer of a rendering, to be given again. */
interface Kept {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
  readonly at: number;
}

/** A rendering that several callers wait for. */
interface Running {
  readonly answer: Promise<Kept | Response>;
  /** Callers that still wait; with the last one the rendering ends. */
  waiting: number;
  readonly stop: AbortController;
}

/** One rendering to share. */
export interface SharedRendering {
  /** The caller, and everything that may change the answer. */
  readonly key: string;
  /** How old an answer may be, in ms. */
  readonly maxAgeMs: number;
  readonly signal: AbortSignal;
  readonly render: (signal: AbortSignal) => Promise<Response>;
}

/** Renderings that were made a moment ago. */
export interface RenderCache {
  /** The kept answer, the answer of a rendering that is under way, or that of a new one. */
  share(rendering: SharedRendering): Promise<Response>;
}

/** Bytes of all kept answers, and of one. */
const TOTAL_BYTES = 64 * 1024 * 1024;
const ONE_BYTES = 16 * 1024 * 1024;

/**
 * Keeps successful answers in memory, the latest up to 64 MB. Equal renderings that overlap are made once when `joins` says
 * that one request may wait for another's work; a caller who leaves ends it only if no other one waits.
 */
export function renderCache(system: System, joins: boolean): RenderCache {
  const kept = new Map<string, Kept>();
  const running = new Map<string, Running>();
  let total = 0;
  const forget = (key: string): void => {
    total -= kept.get(key)?.bytes.length ?? 0;
    kept.delete(key);
  };
  const keep = (key: string, answer: Kept): void => {
    forget(key);
    if (answer.bytes.length > ONE_BYTES) return;
    kept.set(key, answer);
    total += answer.bytes.length;
    for (const [oldest] of kept) {
      if (total <= TOTAL_BYTES) break;
      forget(oldest);
    }
  };
  const make = async (
    { key, render }: SharedRendering,
    signal: AbortSignal,
  ): Promise<Kept | Response> => {
    const answer = await render(signal);
    if (answer.status !== 200) return answer;
    const bytes = await bytesOf(answer);
    const made = { bytes, headers: answer.headers, at: system.now() };
    keep(key, made);
    return made;
  };
  const begin = (rendering: SharedRendering): Running => {
    const stop = new AbortController();
    const begun = { answer: make(rendering, stop.signal), waiting: 0, stop };
    running.set(rendering.key, begun);
    // Another one may have taken the place of one that everybody left.
    const end = (): void => {
      if (running.get(rendering.key) === begun) running.delete(rendering.key);
    };
    begun.answer.then(end, end);
    return begun;
  };
  return {
    async share(rendering) {
      const { key, maxAgeMs, signal } = rendering;
      const found = kept.get(key);
      if (found !== undefined && system.now() - found.at < maxAgeMs) return again(found);
      if (!joins) return again(await make(rendering, signal));
      const under = running.get(key);
      // A rendering that all its callers have left has been aborted.
      const joined = under === undefined || under.stop.signal.aborted ? begin(rendering) : under;
      return again(await waitFor(joined, signal));
    },
  };
}

/** Waits for a shared rendering. A client that disconnects does not cancel it for the remaining ones. */
async function waitFor(running: Running, signal: AbortSignal): Promise<Kept | Response> {
  signal.throwIfAborted();
  running.waiting += 1;
  const left = Promise.withResolvers<never>();
  const onAbort = (): void => left.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([running.answer, left.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    running.waiting -= 1;
    if (running.waiting === 0) running.stop.abort();
  }
}

/** The bytes of an answer: those that its maker noted, as a response makes copies of them, which hold up others for long. */
async function bytesOf(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const body = responseNote(answer)?.body;
  if (typeof body === "string") return utf8(body);
  if (body instanceof Uint8Array && body.buffer instanceof ArrayBuffer)
    return body as Uint8Array<ArrayBuffer>;
  return new Uint8Array(await answer.arrayBuffer());
}

function again(answer: Kept | Response): Response {
  if (answer instanceof Response) return answer;
  const { bytes, headers } = answer;
  return longResponse(bytes, headers);
}

/** Seconds for which a rendering may be reused. */
const cacheTtl = v.pipe(v.string(), v.regex(/^\d{1,5}$/u), v.transform(Number), v.maxValue(86_400));

/** How old an answer may be, in milliseconds, as a query asks for it. @throws ApiError `invalid_request` */
export function readCacheTtl(query: URLSearchParams): number {
  const ttl = query.get("cacheTTL") ?? "5";
  const read = v.safeParse(cacheTtl, ttl);
  if (!read.success) {
    throw invalidRequest(
      `cacheTTL: "${ttl.slice(0, 40)}" is not a number of seconds from 0 to 86400`,
    );
  }
  return read.output * 1000;
}
