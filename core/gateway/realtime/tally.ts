import type { LoggedBody, LogRow } from "../call/ended-attempt.ts";
import { isObject, jsonText } from "../../http/json.ts";
import type { Observation } from "../call/recording.ts";
import { addUsage } from "../providers/usage.ts";
import { sumOfUsage, noUsage, type TokenUsage } from "../chat/usage.ts";
import type { RelayEnd, Side } from "./relay.ts";
import { messageObject, messageText, sessionModel } from "./session-messages.ts";

/** Counts what passes on a connection, for its one log row. */
export interface ConnectionTally {
  add(from: Side, message: string | Uint8Array): void;
  /** Returns the row's account of both directions. */
  finish(end: RelayEnd): {
    readonly seen: Observation;
    readonly about: Pick<LogRow, "model" | "modelType" | "requestType" | "request">;
  };
}

export interface TallyOptions {
  /** The model that the address names, or empty. */
  readonly model: string;
  /** Whether the row says anything of the messages. */
  readonly summary: boolean;
  /** Characters of the messages of each direction. @default 0 = none */
  readonly keep: number;
}

interface Direction {
  frames: number;
  bytes: number;
  kept: number;
  complete: boolean;
  readonly messages: string[];
}

export function tally({ model, summary, keep }: TallyOptions): ConnectionTally {
  const sides: Record<Side, Direction> = { client: direction(), provider: direction() };
  let named = model;
  let usage = noUsage;
  return {
    add(from, message) {
      const side = sides[from];
      side.frames += 1;
      side.bytes += typeof message === "string" ? utf8Length(message) : message.byteLength;
      if (keep > 0) remember(side, message, keep);
      const text = messageText(message);
      if (text === null) return;
      if (from === "provider") {
        if (text.includes('"usage')) usage = withReport(usage, messageObject(text));
      } else if (named === "" && text.includes('"model"'))
        named = sessionModel(messageObject(text) ?? {});
    },
    finish(end) {
      const body = (from: Side): LoggedBody => {
        const { frames, bytes, complete, messages } = sides[from];
        const close = end.by === from ? { close: { code: end.code, reason: end.reason } } : {};
        const text = { frames, bytes, ...close, ...(keep > 0 ? { messages } : {}) };
        return { text: summary ? JSON.stringify(text) : null, size: bytes, complete };
      };
      return {
        seen: { usage, body: body("provider") },
        about: {
          model: named,
          modelType: "realtime",
          requestType: "websocket",
          request: body("client"),
        },
      };
    },
  };
}

function direction(): Direction {
  return { frames: 0, bytes: 0, kept: 0, complete: true, messages: [] };
}

function remember(side: Direction, message: string | Uint8Array, keep: number): void {
  const text = typeof message === "string" ? message : `(${message.byteLength} bytes)`;
  // Quotes and commas of the list count, so that a flood of short messages cannot outgrow the bound.
  side.kept += text.length + 3;
  if (side.kept <= keep) side.messages.push(text);
  else side.complete = false;
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // A surrogate pair is two units and four bytes.
    if (unit > 0x7f) length += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return length;
}

/** OpenAI reports each response for itself; others report totals, the last of which counts. */
function withReport(total: TokenUsage, message: unknown): TokenUsage {
  if (!isObject(message)) return total;
  const type = jsonText(message["type"]);
  if (type === "response.done") return sumOfUsage(total, addUsage(noUsage, message));
  // Another model writes down what the user says, at a price of its own, by tokens or by the minute.
  return type.includes("input_audio_transcription")
    ? { ...total, unpriced: true }
    : addUsage(total, message);
}
