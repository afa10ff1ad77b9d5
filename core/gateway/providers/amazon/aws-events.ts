import { jsonObject } from "../../../http/json.ts";
import { awsFrames } from "../clouds/aws-frames.ts";
import { addUsage } from "../usage.ts";
import { noUsage, type TokenUsage } from "../../chat/usage.ts";

/** Reads the usage out of a stream of `application/vnd.amazon.eventstream`, the framing of Amazon Bedrock. */
export interface AwsEventUsage {
  push(chunk: Uint8Array): void;
  usage(): TokenUsage;
}

/** Bytes of one frame that are looked at; a longer one cannot be a usage report. */
const FRAME_LIMIT = 256 * 1024;
const METRICS = "amazon-bedrock-invocationMetrics";

const decoder = new TextDecoder();

export function awsEventUsage(): AwsEventUsage {
  let usage = noUsage;
  const frames = awsFrames({
    limit: FRAME_LIMIT,
    frame(_, payload) {
      usage = usageOf(payload, usage);
    },
  });
  return { push: (chunk) => frames.push(chunk), usage: () => usage };
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
