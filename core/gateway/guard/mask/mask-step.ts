import { utf8 } from "../../../crypto/encoding.ts";
import { asObject, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import type { Step } from "../../call/call.ts";
import { bodyText, bodyValue } from "../../wire/readable-body.ts";
import { inSlices, type SlicePause } from "../text/slices.ts";
import { maskedJson, type Masking } from "./masked-json.ts";

/** Headers that describe the bytes of the body before. */
const ofBytes: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

/** Paths of requests whose answer is made of all of their text: a vector, a voice, a picture. */
const MADE_OF_TEXT =
  /embed|audio\/speech|text-to-speech|(?:^|\/)(?:tts|speak)(?:\/|$)|images?\/|(?:^|\/)videos?(?:\/|$)/i;

/** Models whose answers are pictures or sound, by their names. */
const MEDIA_MODEL = /-(?:image|audio|tts)(?![a-z])/i;

/** Members by which a chat asks for such an answer; a name can be escaped. */
const MENTIONED = /modalities|image_generation|-(?:image|audio|tts)|\\u00/i;

/** Whether values could be put back in the answer of a request with placeholders. */
export function isRestorable(step: Step): boolean {
  const { rest } = step;
  return !MADE_OF_TEXT.test(rest) && !MEDIA_MODEL.test(rest) && !asksForMedia(step);
}

/**
 * Whether a chat asks for pictures or sound, which hold what they were made of in no form that could be found again:
 * OpenAI's `modalities` (https://platform.openai.com/docs/guides/audio) and tool
 * (https://platform.openai.com/docs/guides/tools-image-generation), and Gemini's
 * (https://ai.google.dev/gemini-api/docs/image-generation).
 */
function asksForMedia(step: Step): boolean {
  if (!MENTIONED.test(bodyText(step) ?? "")) return false;
  const body = asObject(bodyValue(step));
  // One that cannot be read may ask for anything.
  if (body === null) return true;
  const config = jsonObject(body["generationConfig"] ?? body["generation_config"]);
  const kinds = [body["modalities"], config["responseModalities"], config["response_modalities"]];
  const isText = (kind: unknown): boolean => jsonText(kind).toLowerCase() === "text";
  return (
    MEDIA_MODEL.test(jsonText(body["model"])) ||
    kinds.some((list) => Array.isArray(list) && !list.every(isText)) ||
    jsonObjects(body["tools"]).some(({ type }) => type === "image_generation")
  );
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
