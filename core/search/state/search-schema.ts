import { notArray } from "../../http/fields/schema-fields.ts";
import * as v from "valibot";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { ErrorName } from "../../http/codes.ts";
import { misspelling } from "../../text/nearest.ts";
import { instanceId } from "./instance-schema.ts";
import { optionsOf, type RetrievalOptions, retrievalOptions } from "./retrieval-schema.ts";

/** Bytes of a search or chat body: messages may carry files of up to 10 MiB in base64. */
export const SEARCH_BODY_LIMIT: number = 16 * 1024 * 1024;

/** Characters of a query that are used; the rest of a pasted document adds nothing. */
const MAX_QUERY = 8_192;

const unit = v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1));
const name = v.pipe(v.string(), v.maxLength(128));

const part = v.variant("type", [
  v.looseObject({ type: v.literal("text"), text: v.string() }),
  v.looseObject({
    type: v.literal("image_url"),
    image_url: v.looseObject({
      url: v.pipe(v.string(), v.regex(/^(?:https:|data:)/, "expected an https: or data: URL")),
    }),
  }),
  v.looseObject({
    type: v.literal("file"),
    file: v.looseObject({
      filename: v.optional(v.string()),
      file_data: v.optional(v.string()),
      file_id: v.optional(v.string()),
    }),
  }),
]);

const message = v.looseObject({
  role: v.picklist(["system", "developer", "user", "assistant", "tool"]),
  content: v.nullish(v.union([v.string(), v.array(part)])),
});

const messages = v.pipe(v.array(message), v.maxLength(1000));

const options = v.pipe(
  notArray,
  optionsOf({
    retrieval: v.optional(retrievalOptions),
    query_rewrite: v.optional(
      optionsOf({
        enabled: v.optional(v.boolean()),
        model: v.optional(name),
        rewrite_prompt: v.optional(v.pipe(v.string(), v.maxLength(8192))),
      }),
    ),
    reranking: v.optional(
      optionsOf({
        enabled: v.optional(v.boolean()),
        model: v.optional(name),
        match_threshold: v.optional(unit),
      }),
    ),
    cache: v.optional(
      optionsOf({
        enabled: v.optional(v.boolean()),
        cache_threshold: v.optional(
          v.picklist(["super_strict_match", "close_enough", "flexible_friend", "anything_goes"]),
        ),
      }),
    ),
    custom_metadata: v.optional(
      v.pipe(notArray, v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
    ),
    instance_ids: v.optional(v.array(instanceId)),
  }),
);

/** A part of a message; further members pass to the chat model as they are. */
export type MessagePart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "file"; readonly file: Readonly<Record<string, unknown>> };

/** A message of a conversation. */
export interface Message {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content?: string | null | undefined | readonly MessagePart[];
}

type Opt<T> = T | undefined;

/** How alike two questions have to be for one answer. */
export type CacheThreshold =
  | "super_strict_match"
  | "close_enough"
  | "flexible_friend"
  | "anything_goes";

/** `ai_search_options` of a request. */
export interface RequestOptions {
  readonly retrieval?: Opt<RetrievalOptions>;
  readonly query_rewrite?: Opt<{
    readonly enabled?: Opt<boolean>;
    readonly model?: Opt<string>;
    readonly rewrite_prompt?: Opt<string>;
  }>;
  readonly reranking?: Opt<{
    readonly enabled?: Opt<boolean>;
    readonly model?: Opt<string>;
    readonly match_threshold?: Opt<number>;
  }>;
  readonly cache?: Opt<{
    readonly enabled?: Opt<boolean>;
    readonly cache_threshold?: Opt<CacheThreshold>;
  }>;
  readonly custom_metadata?: Opt<Readonly<Record<string, string | number | boolean>>>;
  readonly instance_ids?: Opt<readonly string[]>;
}

export interface SearchBody {
  readonly query?: string | undefined;
  readonly messages?: readonly Message[] | undefined;
  readonly ai_search_options?: RequestOptions | undefined;
}

/** The body of a chat completion. */
export interface ChatBody {
  readonly messages?: readonly Message[] | undefined;
  readonly model?: string | undefined;
  readonly stream?: boolean | undefined;
  /**
   * Our extension: how a stream carries its chunks. `"event"` = the event `chunks`, `"delta"` = in the member `chunks` of a
   * first, empty delta, `"none"` or false = not at all. @default "delta" for the `openai` clients, else "event"
   */
  readonly stream_options?:
    | {
        readonly include_chunks?: boolean | "event" | "delta" | "none" | undefined;
        readonly include_usage?: boolean | undefined;
      }
    | null
    | undefined;
  readonly ai_search_options?: RequestOptions | undefined;
  /** Any others are the chat model's: `temperature`, `max_tokens`, `tools` and their like. */
  readonly [parameter: string]: unknown;
}

const OWN = ["messages", "model", "stream", "stream_options", "ai_search_options"];

/** Returns the parameters of a chat body that are meant for the chat model. Throws 400 for a misspelt field of ours. */
export function modelParameters(body: ChatBody): Readonly<Record<string, unknown>> {
  const others = Object.entries(body).filter(([key]) => !OWN.includes(key));
  for (const [key] of others) {
    const meant = misspelling(key, OWN);
    if (meant !== undefined)
      throw invalidRequest(`Unknown field "${key.slice(0, 64)}": did you mean "${meant}"?`);
  }
  return Object.fromEntries(others);
}

export const searchSchema: v.GenericSchema<unknown, SearchBody> = v.pipe(
  notArray,
  v.object({
    query: v.optional(v.string()),
    messages: v.optional(messages),
    ai_search_options: v.optional(options),
  }),
  v.check(
    (body) => body.query === undefined || body.messages === undefined,
    "Send query or messages, not both",
  ),
);

/** Checks the body of a chat completion; members that are not listed are the chat model's. */
export const chatSchema: v.GenericSchema<unknown, ChatBody> = v.pipe(
  notArray,
  v.looseObject({
    messages: v.optional(messages),
    model: v.optional(name),
    stream: v.optional(v.boolean()),
    stream_options: v.nullish(
      v.object({
        include_chunks: v.optional(v.union([v.boolean(), v.picklist(["event", "delta", "none"])])),
        include_usage: v.optional(v.boolean()),
      }),
    ),
    ai_search_options: v.optional(options),
  }),
);

/** The parsed query of a request. */
export interface Query {
  readonly text: string;
  readonly kind: "text" | "image" | "multimodal";
}

/** Returns the query of a request: its `query`, else its last user message. Throws the given error when it is blank. */
export function queryOf(
  body: { readonly query?: string | undefined; readonly messages?: readonly Message[] | undefined },
  missing: ErrorName,
): Query {
  const last = body.messages?.findLast((one) => one.role === "user");
  const text = (body.query ?? (last === undefined ? "" : textOf(last))).trim().slice(0, MAX_QUERY);
  const hasImage =
    Array.isArray(last?.content) && last.content.some((one) => one.type === "image_url");
  if (text === "" && hasImage) {
    throw new ApiError("image_needs_vectors", {
      message:
        "image_query_requires_vector_index: the vectors here are of text only; add text to the message",
    });
  }
  if (text === "")
    throw new ApiError(missing, { message: "missing_user_query: send a user message with text" });
  return { text, kind: hasImage ? "multimodal" : "text" };
}

/** Returns the text of a message, its parts joined by line breaks. */
export function textOf({ content }: Message): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("\n");
}
