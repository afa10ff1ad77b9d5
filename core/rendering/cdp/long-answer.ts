/** A message of a browser: the answer to a call, or an event. */
export interface Incoming {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message?: string; readonly data?: unknown };
  readonly sessionId?: string;
}

/**
 * Bytes of a message of a browser: longer ones are not taken. It bounds what one call costs in memory, and is just below what a
 * WebSocket of Workers takes.
 */
export const MESSAGE_LIMIT = 32_000_000;

/** Characters of a message that is parsed at once: some milliseconds of work. */
const AT_ONCE = 2 * 1024 * 1024;

const answerHead = /^\{"id":(?<id>\d+),/u;
const dataHead = /^\{"id":\d+,"result":\{"data":"/u;
const sessionTail = /,"sessionId":"[^"]*"\}$/u;
/** Characters of a message that have its session. */
const TAIL = 200;
const resultHead = /^\{"id":\d+,"result":(?=\{)/u;

/**
 * Makes the message that replaces one that is too long: a refusal of the call that it answers. Returns null for an event:
 * no call waits for it, so it is left out.
 *
 * @param head The first characters of the message; the ids are there
 * @param size Bytes of the whole message
 */
export function insteadOfLong(head: string, size: number): string | null {
  const id = answerHead.exec(head)?.groups?.["id"];
  if (id === undefined) return null;
  const message = `The answer has ${size} bytes, and it may have ${MESSAGE_LIMIT}`;
  return JSON.stringify({ id: Number(id), error: { message, data: { size } } });
}

/** A message that came whole, or what is delivered in its place. */
export function boundedMessage(message: string): string | null {
  return message.length <= MESSAGE_LIMIT ? message : insteadOfLong(message, message.length);
}

/** Bytes of an answer that was too long, of what {@link insteadOfLong} says; undefined for any other refusal. */
export function sizeOfLong(error: Incoming["error"]): number | undefined {
  const { size } = (error?.data ?? {}) as { readonly size?: unknown };
  return typeof size === "number" ? size : undefined;
}

/**
 * Reads a message. A long one is not parsed here: the `data` of a picture or PDF is cut out, which is base64 without escapes, and
 * the result of any other call that `takesText` is `{ text }`, for its caller to parse beside the event loop.
 */
export function readMessage(message: string, takesText: (id: number) => boolean): Incoming {
  if (message.length <= AT_ONCE) return JSON.parse(message) as Incoming;
  const id = Number(answerHead.exec(message)?.groups?.["id"]);
  // The session of a target comes last.
  const tail = sessionTail.exec(message.slice(-TAIL))?.[0].length ?? 1;
  const end = message.length - tail;
  const before = dataHead.exec(message)?.[0].length;
  if (before !== undefined && message.indexOf('"', before) === end - 2)
    return { id, result: { data: message.slice(before, end - 2) } };
  const start = resultHead.exec(message)?.[0].length;
  if (start !== undefined && takesText(id))
    return { id, result: { text: message.slice(start, end) } };
  return JSON.parse(message) as Incoming;
}
