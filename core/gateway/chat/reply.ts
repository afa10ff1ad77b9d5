import type { HeaderPair } from "../../ports.ts";
import type { Chat, ChatReasoning, ChatUsage, ExtraContent } from "./chat-format.ts";
import type { ProviderFailure } from "./failures/failure.ts";
import type { Json } from "../../http/json.ts";

export interface ChatToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: ExtraContent;
}

/** A whole answer, provider-neutral. */
export interface ChatReply {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  /** Why the model does not answer. @default it does */
  readonly refusal?: string;
  readonly reasoning?: readonly ChatReasoning[];
  /** Images that the model drew, as `data:` URLs. @default nothing */
  readonly images?: readonly string[];
  readonly toolCalls: readonly ChatToolCall[];
  /** Null while a streamed answer goes on. */
  readonly finishReason: string | null;
  /** Which of the client's stop sequences ended the answer. @default the provider does not say */
  readonly stopSequence?: string;
  readonly usage: ChatUsage;
}

export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: "function";
  readonly function: { readonly name?: string; readonly arguments?: string };
  readonly extra_content?: ExtraContent;
}

export interface MessageDelta {
  readonly role?: "assistant";
  readonly content?: string;
  readonly refusal?: string;
  readonly thought?: string;
  /** A complete thought, with the provider's own data that it expects back; its text was sent before. */
  readonly reasoning?: ChatReasoning;
  /** Images that the model drew, as `data:` URLs. */
  readonly images?: readonly string[];
  readonly tool_calls?: readonly ToolCallDelta[];
}

/** The addition of one event of a stream. */
export interface ChatDelta {
  readonly id?: string;
  readonly model?: string;
  readonly delta?: MessageDelta;
  readonly finishReason?: string;
  readonly stopSequence?: string;
  /** Cumulative; the last one counts. */
  readonly usage?: ChatUsage;
  readonly done?: boolean;
  /** The provider's error, as `readFailure` takes it. */
  readonly error?: unknown;
}

/** Reads the events of one stream, in order. */
export interface StreamReader {
  read(event: Json): ChatDelta;
  /** Whether a clean end after a finish reason ends the answer as well; a `done` always does. */
  readonly endsByItself: boolean;
  /** Returns the addition of a literal `[DONE]`. @default nothing */
  finish?(): ChatDelta;
}

/** Translates chats into a provider's own format and its answers back. */
export interface ChatTranslator {
  /** Asks the provider for the tokens of a chat; the `usage` of its reply has them. @default the provider does not count */
  readonly counter?: ChatTranslator;
  /** Whether images must be in the request, because the provider does not fetch them. */
  readonly wantsInlineImages?: boolean;
  request(chat: Chat): {
    rest: string;
    query: string;
    body: object;
    headers: readonly HeaderPair[];
  };
  reply(body: Json, chat: Chat): ChatReply;
  stream(chat: Chat): StreamReader;
  /** Returns the error in a body, as `readFailure` takes it; null or undefined for an answer. */
  errorOf(body: Json): unknown;
}

/** The chat that an answer replies to. */
export interface ReplyContext {
  readonly chat: Chat;
  /** The client's request, for formats whose answers repeat some of it. */
  readonly given: Json;
  /** A unique id, for providers that send none. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
}

export interface StreamWriter {
  /** The events that tell what a delta adds; empty when there is nothing to tell. */
  add(delta: ChatDelta): string;
  end(): string;
  error(failure: ProviderFailure): string;
}

/** A format in which clients ask, and are answered. */
export interface ChatFront {
  /** Reads a request; what cannot be translated is a 400 (`chat_format`) that names it. */
  read(given: Json): Chat;
  reply(reply: ChatReply, context: ReplyContext): object;
  stream(context: ReplyContext): StreamWriter;
  failure(failure: ProviderFailure): object;
}

/** A chat on its way from one format to another. */
export interface Translation {
  readonly front: ChatFront;
  readonly translator: ChatTranslator;
  readonly chat: Chat;
  readonly given: Json;
}
