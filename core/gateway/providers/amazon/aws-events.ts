import { jsonObject } from "../../../http/json.ts";
import { addUsage } from "../usage.ts";
import { noUsage, type TokenUsage } from "../../chat/usage.ts";

/** Reads the usage out of a stream of `application/vnd.amazon.eventstream`, the framing of Amazon Bedrock. */
export interface AwsEventUsage {
  push(chunk: Uint8Array): void;
  usage(): TokenUsage;
}

/** Bytes of a frame's lengths and their checksum, and of the checksum of the whole behind its payload. */
const PRELUDE = 12;
const CHECKSUM = 4;
/** Bytes of one frame that are looked at; a longer one cannot be a usage report. */
const FRAME_LIMIT = 256 * 1024;
const METRICS = "amazon-bedrock-invocationMetrics";

const decoder = new TextDecoder();

/**
 * Reads frame by frame, each byte once (Smithy's specification "Amazon Event Stream": lengths of the frame and of its
 * headers, headers, payload, all checked by their length alone). Other streams are not read further.
 */
export function awsEventUsage(): AwsEventUsage {
  let usage = noUsage;
  let room = new Uint8Array(1024);
  let used = 0;
  let wanted = PRELUDE;
  let skipped = 0;
  const endOfPrelude = (view: DataView): void => {
    const size = view.getUint32(0);
    const isFrame = PRELUDE + view.getUint32(4) + CHECKSUM <= size;
    if (isFrame && size <= FRAME_LIMIT) wanted = size;
    else {
      skipped = isFrame ? size - PRELUDE : Number.POSITIVE_INFINITY;
      used = 0;
    }
  };
  const endOfFrame = (view: DataView): void => {
    usage = usageOf(room.subarray(PRELUDE + view.getUint32(4), used - CHECKSUM), usage);
    wanted = PRELUDE;
    used = 0;
  };
  return {
    push(chunk) {
      for (let at = 0; at < chunk.length;) {
        const left = chunk.length - at;
        const taken = Math.min(left, skipped > 0 ? skipped : wanted - used);
        if (skipped > 0) skipped -= taken;
        else {
          if (wanted > room.length) room = grown(room, wanted);
          room.set(chunk.subarray(at, at + taken), used);
          used += taken;
          const end = used === PRELUDE ? endOfPrelude : endOfFrame;
          if (used === wanted) end(new DataView(room.buffer));
        }
        at += taken;
      }
    },
    usage: () => usage,
  };
}

function grown(room: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(size);
  larger.set(room);
  return larger;
}

/** Adds what a payload says: an event of Converse, or in base64 one of the model's own, whose figures are ASCII. */
function usageOf(payload: Uint8Array, usage: TokenUsage): TokenUsage {
  try {
    const event = jsonObject(JSON.parse(decoder.decode(payload)));
    if (typeof event["bytes"] !== "string") return addUsage(usage, event);
    const own = jsonObject(JSON.parse(atob(event["bytes"])));
    return withMetrics(addUsage(usage, own), own[METRICS]);
  } catch {
    return usage;
  }
}

/** Adds the tokens that Bedrock counts, for models that report none themselves. */
function withMetrics(usage: TokenUsage, given: unknown): TokenUsage {
  if (given === undefined || usage.tokensIn !== null) return usage;
  const { inputTokenCount: inputTokens, outputTokenCount: outputTokens } = jsonObject(given);
  return addUsage(usage, { usage: { inputTokens, outputTokens } });
}
