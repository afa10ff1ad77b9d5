import type { Chat } from "./chat-format.ts";
import type { ChatDelta, ChatReply, StreamReader } from "./reply.ts";

/** Whether a chat allows one tool call at a time, which not every provider can be asked for. */
function wantsOne({ parallel_tool_calls: parallel }: Chat): boolean {
  return parallel === false;
}

/** Returns a whole answer with no more calls than the chat wants: of several, the first. */
export function singleCall(reply: ChatReply, chat: Chat): ChatReply {
  return wantsOne(chat) ? { ...reply, toolCalls: reply.toolCalls.slice(0, 1) } : reply;
}

/** Returns a stream with no more calls than the chat wants. */
export function singleCallStream(reader: StreamReader, chat: Chat): StreamReader {
  if (!wantsOne(chat)) return reader;
  const only = (event: ChatDelta): ChatDelta => {
    const { tool_calls: calls, ...said } = event.delta ?? {};
    if (calls === undefined) return event;
    const first = calls.filter(({ index }) => index === 0);
    return { ...event, delta: first.length === 0 ? said : { ...said, tool_calls: first } };
  };
  return { ...reader, read: (event) => only(reader.read(event)) };
}
