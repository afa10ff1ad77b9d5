import type { Call, Step } from "../call/call.ts";
import type { Recorder } from "../call/recording.ts";
import { withHeadKept } from "../observe/log/passing-body.ts";
import { withNamedAddress } from "../providers/named-address.ts";
import type { ContentDecoding } from "../wire/content-decoder.ts";
import { withPlainBody } from "../wire/readable-body.ts";

/** What {@link cleaning} works with. */
export interface CleaningParts {
  /** Takes the tokens of ours out of a step. */
  readonly stripOwnTokens: (step: Step, call: Call) => Promise<Step> | Step;
  readonly recorder: Pick<Recorder, "keptBytes">;
  readonly decoding: ContentDecoding;
}

/**
 * A step as it may leave the gateway: to the address that it names, without tokens of ours, the beginning of its body kept
 * for the log, and its packed body beside it as it reads.
 */
export function cleaning({
  stripOwnTokens,
  recorder,
  decoding,
}: CleaningParts): (step: Step, call: Call) => Promise<Step> | Step {
  const readable = (step: Step, call: Call): Promise<Step> | Step =>
    withPlainBody(
      withHeadKept(step, () => recorder.keptBytes(call)),
      decoding,
    );
  return (given, call) => {
    const step = stripOwnTokens(withNamedAddress(given), call);
    return step instanceof Promise ? step.then((one) => readable(one, call)) : readable(step, call);
  };
}
