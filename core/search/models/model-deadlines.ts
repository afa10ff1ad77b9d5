import { passThrough } from "../../http/stream.ts";
import { ApiError, invalidOptions } from "../../http/api-error.ts";
import { copyOf } from "../../net/client-address.ts";
import type { Embedder, System } from "../../ports.ts";
import type { NamedChatModel, Ocr, Reranker, SearchOptions } from "./search-deps.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** Milliseconds that an embedder has for one request. */
const EMBEDDER_MS = 10_000;
/** Milliseconds that a reranker has for one search. */
const RERANKER_MS = 10_000;
/** Milliseconds that a reader of pictures has for one. */
const OCR_MS = 60_000;
/** Milliseconds in which a chat model must begin to answer, and then go on. */
const CHAT_MS = 60_000;

/**
 * Wraps the models of the options so that each answers in time: a model that hangs must not keep a search or an upload
 * waiting, even when its implementation ignores the signal.
 */
export function withModelDeadlines(options: SearchOptions): SearchOptions {
  const { embedder, chatModel, ocr, platform, reranker } = options;
  const { embedderTimeoutMs = EMBEDDER_MS, chatTimeoutMs = CHAT_MS } = options;
  const { rerankerTimeoutMs = RERANKER_MS, ocrTimeoutMs = OCR_MS } = options;
  checkTimeout("embedderTimeoutMs", embedderTimeoutMs);
  checkTimeout("rerankerTimeoutMs", rerankerTimeoutMs);
  checkTimeout("chatTimeoutMs", chatTimeoutMs);
  checkTimeout("ocrTimeoutMs", ocrTimeoutMs);
  return {
    ...options,
    ...(embedder && { embedder: timedEmbedder(embedder, embedderTimeoutMs, platform.system) }),
    ...(reranker && { reranker: timedReranker(reranker, rerankerTimeoutMs, platform.system) }),
    ...(ocr && { ocr: timedOcr(ocr, ocrTimeoutMs, platform.system) }),
    ...(chatModel && { chatModel: timedChatModel(chatModel, chatTimeoutMs, platform.system) }),
  };
}

function checkTimeout(name: string, ms: number): void {
  if (ms >= 1 && ms <= 3_600_000) return;
  throw invalidOptions(`${name}: expected milliseconds from 1 to 3600000, got ${ms}`);
}

function timedEmbedder(embedder: Embedder, ms: number, system: System): Embedder {
  const { model, dimensions, batchSize } = embedder;
  const late = (): ApiError =>
    new ApiError("unavailable", {
      message: `The embedder "${model}" did not answer within ${ms} ms`,
    });
  return {
    model,
    dimensions,
    ...(batchSize === undefined ? {} : { batchSize }),
    embed(texts, purpose, signal, traceparent) {
      const stop = new AbortController();
      const linked = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
      const work = embedder.embed(texts, purpose, linked, traceparent);
      return inTime(work, { ms, system, late, stop, caller: signal });
    },
  };
}

function timedReranker(reranker: Reranker, ms: number, system: System): Reranker {
  const { model } = reranker;
  const late = (): ApiError =>
    new ApiError("unavailable", {
      message: `The reranker "${model}" did not answer within ${ms} ms`,
    });
  return {
    model,
    rerank(query, texts, signal, traceparent) {
      const stop = new AbortController();
      const linked = AbortSignal.any([signal, stop.signal]);
      const work = reranker.rerank(query, texts, linked, traceparent);
      return inTime(work, { ms, system, late, stop, caller: signal });
    },
  };
}

function timedOcr(ocr: Ocr, ms: number, system: System): Ocr {
  const late = (): ApiError =>
    new ApiError("unavailable", { message: `The picture was not read within ${ms} ms` });
  return (picture, signal) => {
    const stop = new AbortController();
    const work = ocr(picture, AbortSignal.any([signal, stop.signal]));
    return inTime(work, { ms, system, late, stop, caller: signal });
  };
}

function timedChatModel(chatModel: NamedChatModel, ms: number, system: System): NamedChatModel {
  const late = (): ApiError =>
    new ApiError("chat_model_failed", {
      message: `The chat model did not answer within ${ms} ms`,
    });
  const ask = async (request: Request): Promise<Response> => {
    const stop = new AbortController();
    const signal = AbortSignal.any([request.signal, stop.signal]);
    const asked = chatModel(copyOf(request, new Request(request, { signal })));
    const response = await inTime(asked, { ms, system, late, stop, caller: request.signal });
    if (response.body === null) return response;
    const body = passThrough(response.body, (read) =>
      inTime(read, { ms, system, late, stop, caller: request.signal }),
    );
    return new Response(body, { status: response.status, headers: response.headers });
  };
  return chatModel.model === undefined ? ask : Object.assign(ask, { model: chatModel.model });
}

interface Deadline {
  readonly ms: number;
  readonly system: System;
  readonly late: () => ApiError;
  readonly stop: AbortController;
  readonly caller: AbortSignal | undefined;
}

/** Returns the work's result; rejects after `ms`, or when the caller leaves, and then ends the work. */
async function inTime<T>(
  work: Promise<T>,
  { ms, system, late, stop, caller }: Deadline,
): Promise<T> {
  const over = new AbortController();
  const expiry = new Promise<never>((_resolve, reject) => {
    const leave = (): void => reject(caller?.reason);
    caller?.addEventListener("abort", leave, { once: true, signal: over.signal });
    system.sleep(ms, over.signal).then(
      () => {
        const error = late();
        // Before the model hears of it: many reject with an error of their own then.
        reject(error);
        stop.abort(error);
      },
      () => undefined,
    );
  });
  try {
    caller?.throwIfAborted();
    return await Promise.race([work, expiry]);
  } finally {
    over.abort(TIMER_OVER);
    work.catch(() => undefined);
  }
}
