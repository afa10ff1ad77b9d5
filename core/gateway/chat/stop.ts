import type { Chat } from "./chat-format.ts";
import type { ChatDelta, ChatReply, StreamReader } from "./reply.ts";

/** Ends a text before the first of some stop sequences, for providers that do not support them. */
export interface StopText {
  /** Returns the part of the text so far that is safe to send: text that could still become a stop sequence waits. */
  push(text: string): string;
  /** Returns the text that waited, once the answer is over. */
  rest(): string;
  readonly stopped: boolean;
}

/** Watches one text for the stop sequences of a request. */
export function stopText(stops: readonly string[]): StopText {
  const wanted = stops.filter((stop) => stop !== "");
  const longest = Math.max(0, ...wanted.map((stop) => stop.length));
  let waiting = "";
  let stopped = false;
  return {
    push(text) {
      if (stopped) return "";
      waiting += text;
      const at = Math.min(...wanted.map((stop) => indexOf(waiting, stop)));
      stopped = at !== Number.POSITIVE_INFINITY;
      const end = stopped ? at : waiting.length - held(waiting, wanted, longest);
      const safe = waiting.slice(0, end);
      waiting = stopped ? "" : waiting.slice(end);
      return safe;
    },
    rest() {
      const left = waiting;
      waiting = "";
      return left;
    },
    get stopped() {
      return stopped;
    },
  };
}

function indexOf(text: string, stop: string): number {
  const at = text.indexOf(stop);
  return at === -1 ? Number.POSITIVE_INFINITY : at;
}

/** Characters at the end that a stop sequence begins with. */
function held(text: string, stops: readonly string[], longest: number): number {
  for (let length = Math.min(longest - 1, text.length); length > 0; length--) {
    const end = text.slice(text.length - length);
    if (stops.some((stop) => stop.startsWith(end))) return length;
  }
  return 0;
}

function stopsOf({ stop }: Chat): string[] {
  return stop == null ? [] : [stop].flat();
}

/** Returns a whole answer up to the first stop sequence; what came behind it was never said. */
export function stoppedReply(reply: ChatReply, chat: Chat): ChatReply {
  const watch = stopText(stopsOf(chat));
  const text = watch.push(reply.text);
  return watch.stopped ? { ...reply, text, toolCalls: [], finishReason: "stop" } : reply;
}

/** Returns a stream up to the first stop sequence. It is read to its end all the same, so that its usage is known. */
export function stoppedStream(reader: StreamReader, chat: Chat): StreamReader {
  const stops = stopsOf(chat);
  if (stops.length === 0) return reader;
  const watch = stopText(stops);
  const cut = (event: ChatDelta): ChatDelta => {
    const { delta, finishReason } = event;
    if (delta === undefined) return event;
    const was = watch.stopped;
    const text = watch.push(delta.content ?? "");
    // Neither the end nor a call is part of a stop sequence: what waits stands before it.
    const goesOn = finishReason === undefined && delta.tool_calls === undefined;
    const content = goesOn || watch.stopped ? text : text + watch.rest();
    const said = content === "" && delta.content === undefined ? {} : { content };
    if (!watch.stopped) return { ...event, delta: { ...delta, ...said } };
    const { delta: _, finishReason: reason, ...rest } = event;
    if (reason !== undefined) return { ...rest, delta: said, finishReason: "stop" };
    const role = delta.role === undefined ? {} : { role: delta.role };
    return was ? rest : { ...rest, delta: { ...role, ...said } };
  };
  return {
    read: (event) => cut(reader.read(event)),
    endsByItself: reader.endsByItself,
    ...(reader.finish === undefined ? {} : { finish: () => cut(reader.finish?.() ?? {}) }),
  };
}
