import type { Chat, ChatMessage } from "./chat-format.ts";
import type { ChatDelta, ChatReply, ChatToolCall, ChatTranslator, StreamReader } from "./reply.ts";

/** Characters in a function's name that some providers refuse, and refuse in front (OpenAI's reference; Gemini, `FunctionDeclaration`). */
const REFUSED = /[^\w-]/g;
const REFUSED_FIRST = /^[\d-]/;

/** The longest name that every provider takes. Claude Code's names of MCP tools get longer. */
const LIMIT = 64;

/** The prefix that Gemini's models sometimes put before a name: https://github.com/tya5/reyn/issues/1989. */
const ECHOED = /^default_api[.:]/;

/** The client's names of functions to the provider's. */
type Names = ReadonlyMap<string, string>;

/** Gives a provider functions by names that it takes, and the client its own names back. */
export function withTakenNames(translator: ChatTranslator): ChatTranslator {
  return {
    ...translator,
    request: (chat) => translator.request(renamed(chat, takenNames(chat))),
    reply: (body, chat) => restoredReply(translator.reply(body, chat), clientNames(chat)),
    stream: (chat) => restoredStream(translator.stream(chat), clientNames(chat)),
  };
}

function takenNames(chat: Chat): Names {
  const called = chat.messages.flatMap((message) =>
    message.role === "assistant" ? (message.tool_calls ?? []) : [],
  );
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { function: made } of [...(chat.tools ?? []), ...called]) {
    if (names.has(made.name)) continue;
    const name = takenName(made.name, taken);
    names.set(made.name, name);
    taken.add(name);
  }
  return names;
}

function takenName(name: string, taken: ReadonlySet<string>): string {
  const clean = name.replace(REFUSED, "_").replace(REFUSED_FIRST, "_$&");
  if (clean.length <= LIMIT && !taken.has(clean)) return clean;
  const number = `_${taken.size}`;
  return clean.slice(0, LIMIT - number.length) + number;
}

function renamed(chat: Chat, names: Names): Chat {
  if ([...names].every(([own, taken]) => own === taken)) return chat;
  const named = <T extends { readonly function: { name: string } }>(one: T): T => {
    const name = names.get(one.function.name) ?? one.function.name;
    return { ...one, function: { ...one.function, name } };
  };
  const { tools, tool_choice: choice } = chat;
  return {
    ...chat,
    ...(tools == null ? {} : { tools: tools.map(named) }),
    ...(choice == null || typeof choice === "string" ? {} : { tool_choice: named(choice) }),
    messages: chat.messages.map((message): ChatMessage =>
      message.role === "assistant" && message.tool_calls != null
        ? { ...message, tool_calls: message.tool_calls.map(named) }
        : message,
    ),
  };
}

/** Returns the client's name of a function for one that a model called. */
type Restore = (name: string) => string;

function clientNames(chat: Chat): Restore {
  const own = new Map([...takenNames(chat)].map(([name, taken]) => [taken, name]));
  return (name) => own.get(name) ?? own.get(name.replace(ECHOED, "")) ?? name;
}

function restoredReply(reply: ChatReply, restore: Restore): ChatReply {
  const toolCalls = reply.toolCalls.map((call): ChatToolCall => ({
    ...call,
    function: { ...call.function, name: restore(call.function.name) },
  }));
  return { ...reply, toolCalls };
}

function restoredStream(reader: StreamReader, restore: Restore): StreamReader {
  const restored = (event: ChatDelta): ChatDelta => {
    const calls = event.delta?.tool_calls;
    if (calls === undefined) return event;
    const tool_calls = calls.map((call) => {
      const { name } = call.function;
      return name === undefined
        ? call
        : { ...call, function: { ...call.function, name: restore(name) } };
    });
    return { ...event, delta: { ...event.delta, tool_calls } };
  };
  return { ...reader, read: (event) => restored(reader.read(event)) };
}
