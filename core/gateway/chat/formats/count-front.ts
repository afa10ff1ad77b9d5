import { readMessages } from "./messages-request.ts";
import { messagesFront } from "./messages-reply.ts";
import type { ChatFront } from "../reply.ts";

/** Anthropic's requests to count the tokens of a message, which have no limit of an answer. */
export const countFront: ChatFront = {
  ...messagesFront,
  read(given) {
    const { max_completion_tokens: _, ...chat } = readMessages({ ...given, max_tokens: 1 });
    return { ...chat, stream: false };
  },
  reply: ({ usage }) => ({ input_tokens: usage.prompt_tokens }),
};
