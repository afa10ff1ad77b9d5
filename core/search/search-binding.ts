import { invalidRequest } from "../http/api-error.ts";
import { checkedJson } from "../http/fields/body.ts";
import { findForChat, searchInstance, type SearchResult } from "./answer/ask.ts";
import { type ChatCompletion, completeChat } from "./answer/chat.ts";
import { instanceAt } from "./actor/instance-client.ts";
import { DEFAULT_NAMESPACE } from "./directory/namespace-store.ts";
import { checkInstanceId, checkNamespace } from "./routes/route-context.ts";
import type { SearchOptions } from "./models/search-deps.ts";
import { readTraceparent } from "../trace/trace-context.ts";
import { withTracedModels } from "./models/traced-models.ts";
import { chatSchema, SEARCH_BODY_LIMIT, searchSchema } from "./state/search-schema.ts";

/** How a {@link SearchBinding} asks. */
export interface SearchCall {
  /** Ends the models' requests. */
  readonly signal?: AbortSignal | undefined;
  /** The span that asks (W3C Trace Context). @default the models' calls begin traces */
  readonly traceparent?: string | undefined;
}

/** An instance for code of the same process, which needs no token. Bodies are the same as those of the routes. */
export interface SearchBinding {
  search(body: unknown, call?: SearchCall): Promise<SearchResult>;
  /** Resolves to the whole answer; `stream: true` is refused. */
  chatCompletions(body: unknown, call?: SearchCall): Promise<ChatCompletion>;
}

/** The account, namespace and instances that a {@link SearchBinding} searches. */
export interface SearchPlace {
  readonly account: string;
  readonly id: string;
  /** The namespace of the instance. @default "default" */
  readonly namespace?: string | undefined;
}

/** Makes the binding of one instance. Throws where no instance can have the name. */
export function searchBinding(place: SearchPlace, options: SearchOptions): SearchBinding {
  const { account, id, namespace = DEFAULT_NAMESPACE } = place;
  checkNamespace(namespace);
  checkInstanceId(id);
  const instance = instanceAt(options.platform, { account, namespace, id });
  const never = new AbortController().signal;
  const traced = (traceparent: string | undefined): SearchOptions =>
    withTracedModels(options, readTraceparent(traceparent ?? null));
  return {
    async search(body, { signal = never, traceparent } = {}) {
      const checked = checkedJson(body, searchSchema, SEARCH_BODY_LIMIT);
      const found = await searchInstance(instance, checked, traced(traceparent), signal);
      return { ...found, notes: found.notes.map(({ message }) => message) };
    },
    async chatCompletions(body, { signal = never, traceparent } = {}) {
      const checked = checkedJson(body, chatSchema, SEARCH_BODY_LIMIT);
      if (checked.stream === true) {
        const message = "stream: code of the same process gets the whole answer; leave it out";
        throw invalidRequest(message);
      }
      const own = traced(traceparent);
      const { input, answerer } = await findForChat(instance, checked, own, signal);
      return completeChat(input, answerer, own, signal);
    },
  };
}
