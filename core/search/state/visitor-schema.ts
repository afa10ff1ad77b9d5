import { notArray } from "../../http/fields/schema-fields.ts";
import * as v from "valibot";
import { optionsOf } from "./retrieval-schema.ts";
import type { ChatBody, SearchBody } from "./search-schema.ts";

// The bodies of requests without a token: everything that would choose a model, a prompt, a filter or a cost is unknown here.

/** Bytes of such a body. */
export const VISITOR_BODY_LIMIT: number = 64 * 1024;

const whole = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

const message = optionsOf({
  role: v.picklist(["user", "assistant"]),
  content: v.pipe(v.string(), v.maxLength(8_192)),
});

const messages = v.pipe(v.array(message), v.minLength(1), v.maxLength(20));

/** Checks a visitor's search: what to look for, and how the answer is shown. */
export const visitorSearchSchema: v.GenericSchema<unknown, SearchBody> = v.pipe(
  notArray,
  optionsOf({
    query: v.optional(v.pipe(v.string(), v.maxLength(8_192))),
    messages: v.optional(messages),
    // The hosted snippets send it.
    stream: v.optional(v.literal(false)),
    ai_search_options: v.optional(
      optionsOf({
        retrieval: v.optional(
          optionsOf({
            max_num_results: v.optional(whole(1, 50)),
            metadata_only: v.optional(v.boolean()),
            prefix: v.optional(v.boolean()),
            show_matches_position: v.optional(v.boolean()),
          }),
        ),
      }),
    ),
  }),
  v.check(
    (body) => body.query === undefined || body.messages === undefined,
    "Send query or messages, not both",
  ),
);

export const visitorChatSchema: v.GenericSchema<unknown, ChatBody> = v.pipe(
  notArray,
  optionsOf({ messages, stream: v.optional(v.boolean()) }),
);
