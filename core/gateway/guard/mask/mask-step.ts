import { utf8 } from "../../../crypto/encoding.ts";
import type { Step } from "../../call/call.ts";
import { inSlices, type SlicePause } from "../text/slices.ts";
import { maskedJson, type Masking } from "./masked-json.ts";

/** Headers that describe the bytes of the body before. */
const ofBytes: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

/** Paths of requests whose answer is made of all of their text: a vector, a voice, a picture. */
const MADE_OF_TEXT =
  /embed|audio\/speech|text-to-speech|(?:^|\/)(?:tts|speak)(?:\/|$)|images?\/|(?:^|\/)videos?(?:\/|$)/i;

/** Whether values could be put back in the answer of a request with placeholders. */
export function isRestorable({ rest }: Pick<Step, "rest">): boolean {
  return !MADE_OF_TEXT.test(rest);
}

/** Returns the step with placeholders in its body; the step itself where there is nothing that could be replaced. */
export async function maskStep(
  step: Step,
  masking: Masking,
  pause: SlicePause | undefined,
): Promise<Step> {
  const bytes = step.plain ?? step.body;
  if (!(bytes instanceof Uint8Array)) return step;
  const text = textOf(bytes);
  masking.placeholders.avoid(text ?? "", new Set(masking.patterns.map(({ type }) => type)));
  const masked = text === null ? null : await inSlices(maskedJson(text, masking), pause);
  if (masked === null || masked === text) return step;
  const { plain: _plain, reading: _reading, ...rest } = step;
  const headers = step.headers.filter(([name]) => !ofBytes.has(name));
  return { ...rest, headers, body: utf8(masked) };
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
