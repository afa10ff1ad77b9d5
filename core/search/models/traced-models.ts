import { copyOf } from "../../net/client-address.ts";
import { passThrough } from "../../http/stream.ts";
import type { OpenSpan, TraceContext } from "../../trace/trace-context.ts";
import { errorType } from "../../trace/traced-work.ts";
import type { NamedChatModel, SearchOptions } from "./search-deps.ts";

/** Wraps the models of the options so that their calls are spans below `parent` and carry their own `traceparent`. */
export function withTracedModels(
  options: SearchOptions,
  parent: TraceContext | null,
): SearchOptions {
  const { chatModel, embedder, reranker, tracer } = options;
  if (tracer === undefined) return options;
  const begin = (operation: string, model: string): ModelSpan =>
    modelSpan(tracer.begin(parent), operation, model);
  return {
    ...options,
    ...(embedder && {
      embedder: {
        ...embedder,
        embed(texts, purpose, signal) {
          const span = begin("embeddings", embedder.model);
          return span.of(embedder.embed(texts, purpose, signal, span.traceparent));
        },
      },
    }),
    ...(reranker && {
      reranker: {
        ...reranker,
        rerank(query, texts, signal) {
          const span = begin("rerank", reranker.model);
          return span.of(reranker.rerank(query, texts, signal, span.traceparent));
        },
      },
    }),
    ...(chatModel && {
      chatModel: tracedChat(chatModel, () => begin("chat", chatModel.model ?? "default")),
    }),
  };
}

/** The span of one call of a model, with the names of the GenAI conventions. */
interface ModelSpan {
  readonly traceparent: string;
  /** Called as often as one likes: the first call counts. */
  end(error: string | null): void;
  /** Ends with the work. */
  of<T>(work: Promise<T>): Promise<T>;
}

function modelSpan(span: OpenSpan, operation: string, model: string): ModelSpan {
  let isOver = false;
  const end = (error: string | null): void => {
    if (isOver) return;
    isOver = true;
    span.end({
      name: `${operation} ${model}`,
      kind: "client",
      attributes: {
        "causey.part": "search",
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": model,
        "error.type": error,
      },
      isError: error !== null,
    });
  };
  return {
    traceparent: span.traceparent,
    end,
    async of(work) {
      try {
        const result = await work;
        end(null);
        return result;
      } catch (error) {
        end(errorType(error));
        throw error;
      }
    },
  };
}

/** The span lasts until the last byte of the answer, or until the caller leaves. */
function tracedChat(chatModel: NamedChatModel, begin: () => ModelSpan): NamedChatModel {
  const ask = async (request: Request): Promise<Response> => {
    const span = begin();
    const { signal } = request;
    signal.addEventListener("abort", () => span.end("aborted"), { once: true });
    const headers = new Headers(request.headers);
    headers.set("traceparent", span.traceparent);
    let response: Response;
    try {
      response = await chatModel(copyOf(request, new Request(request, { headers })));
    } catch (error) {
      span.end(errorType(error));
      throw error;
    }
    const { body, status } = response;
    const error = status >= 400 ? String(status) : null;
    if (body === null) {
      span.end(error);
      return response;
    }
    const watched = passThrough(body, async (read) => {
      try {
        const part = await read;
        if (part.done) span.end(error);
        return part;
      } catch (failure) {
        span.end(errorType(failure));
        throw failure;
      }
    });
    return new Response(watched, { status, headers: response.headers });
  };
  return chatModel.model === undefined ? ask : Object.assign(ask, { model: chatModel.model });
}
