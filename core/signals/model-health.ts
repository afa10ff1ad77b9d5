import { isObject } from "../http/json.ts";
import { formatInstant } from "../http/fields/instant.ts";
import type { ChatModel, Embedder, System } from "../ports.ts";
import type { PartHealth } from "./health.ts";

type NamedChatModel = ChatModel & { readonly model?: string };

/** Remembers how the last request to each model endpoint went. */
export interface ModelHealth {
  embedder(embedder: Embedder): Embedder;
  chatModel(model: NamedChatModel): NamedChatModel;
  readonly part: () => PartHealth;
}

/** The models of each part that has some. */
export interface PartModels {
  readonly search: ModelHealth;
  readonly rendering: ModelHealth;
}

/** Watches model endpoints; a request that its caller gave up says nothing about them. */
export function modelHealth(system: System): ModelHealth {
  const failed = new Map<string, number>();
  const note = (name: string, isFailed: boolean): void => {
    if (isFailed) failed.set(name, system.now());
    else failed.delete(name);
  };
  return {
    embedder: (embedder) => ({
      model: embedder.model,
      dimensions: embedder.dimensions,
      async embed(texts, purpose, signal, traceparent) {
        const name = `embedder "${embedder.model}"`;
        try {
          const vectors = await embedder.embed(texts, purpose, signal, traceparent);
          note(name, false);
          return vectors;
        } catch (error) {
          if (signal?.aborted !== true) note(name, isEndpointsFault(statusOf(error)));
          throw error;
        }
      },
    }),
    chatModel(model) {
      const name = `chat model "${model.model ?? "default"}"`;
      const ask = async (request: Request): Promise<Response> => {
        try {
          const response = await model(request);
          note(name, isEndpointsFault(response.status));
          return response;
        } catch (error) {
          if (!request.signal.aborted) note(name, true);
          throw error;
        }
      };
      return model.model === undefined ? ask : Object.assign(ask, { model: model.model });
    },
    part() {
      const [first] = failed;
      if (first === undefined) return { status: "ready" };
      const [name, at] = first;
      return {
        status: "failing",
        reason: `The last request to the ${name} failed, at ${formatInstant(at)}`,
      };
    },
  };
}

/** The status in the cause of an embedder's failure; 500 if no answer came, or an unreadable one. */
function statusOf(error: unknown): number {
  const cause = error instanceof Error ? error.cause : undefined;
  return isObject(cause) && typeof cause["status"] === "number" ? cause["status"] : 500;
}

/** Whether a status shows a fault of the endpoint, its key or its model, and not of the caller's request. */
function isEndpointsFault(status: number): boolean {
  return status >= 500 || [401, 402, 403, 404, 408, 429].includes(status);
}
