import { asObject, type Json, jsonObject, ownMember } from "../../http/json.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { InboundResponse, Transport } from "../../ports.ts";
import type { ConfiguredTargets } from "./target.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import type { Call, Step } from "../call/call.ts";
import { asksForStream } from "../chat/chat-body.ts";
import type { Recorder } from "../call/recording.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { changedStream } from "../../http/body/changed-stream.ts";
import { plainBody } from "../wire/reply-body.ts";
import { providerRow } from "./known/table.ts";
import { bodyText, bodyValue, plainBytes } from "../wire/readable-body.ts";
import { withoutUnaskedUsage } from "./openai/unasked-usage.ts";

/** The path of OpenAI's format whose streams report their usage only when asked. */
const CHAT_PATH = /(?:^|\/)completions\/*$/i;

/** The first version of Azure's API that takes the question, and refuses requests with it no longer. */
const AZURE_SINCE = "2024-09-01";

const ENCODING: ReadonlySet<string> = new Set(["accept-encoding", "content-encoding"]);

/** Dependencies of deciding whether a request is asked for its usage. */
export interface UsageQuestion {
  readonly targets: ConfiguredTargets;
  readonly recorder: Pick<Recorder, "wantsUsage">;
}

/** Dependencies of removing the usage report for which the client did not ask. */
export interface UnaskedParts {
  readonly decoding: ContentDecoding;
  readonly transport: Pick<Transport, "change">;
}

interface StreamRequest {
  readonly body: Json;
  readonly bytes: Uint8Array;
  /** Whether the client asks for the usage itself. */
  readonly asks: boolean;
}

/** Returns the stream that a step asks for; null for any other request. Only bodies that mention one are parsed. */
function streamRequest(step: Step): StreamRequest | null {
  if (step.method !== "POST" || !CHAT_PATH.test(step.rest)) return null;
  const bytes = plainBytes(step);
  const text = bodyText(step);
  if (bytes === null || text === null) return null;
  // Names can be escaped: each letter of this one is then written with \u006 or \u007.
  if (!text.includes('"stream"') && !/\\u00[67]/.test(text)) return null;
  const body = asObject(bodyValue(step));
  if (body === null || !asksForStream(body)) return null;
  return { body, bytes, asks: optionsOf(body)["include_usage"] === true };
}

function optionsOf({ stream_options: options }: Json): Json {
  return jsonObject(options);
}

/** Whether a provider's streams in OpenAI's format tell their usage by themselves, or when they are asked; else null. */
function tellsUsage(
  { slug, rest }: Step,
  { providers: options }: ConfiguredTargets,
): "asked" | "told" | null {
  const configured = ownMember(options, slug)?.streamUsage;
  if (configured !== undefined) return configured ? "asked" : null;
  const provider = providerRow(slug);
  // Translated into a format whose streams all tell.
  if (provider?.chat !== undefined && rest === "chat/completions") return "told";
  return provider?.streamUsage ?? null;
}

/** Whether this request may be asked for its usage: Azure refuses the question of old versions, and beside its search. */
function takesQuestion({ slug, rest, query }: Step, { body }: StreamRequest): boolean {
  if (slug !== "azure-openai") return true;
  if ("data_sources" in body) return false;
  const version = new URLSearchParams(query).get("api-version");
  return version === null
    ? /(?:^|\/)v1\//.test(rest)
    : version === "preview" || version >= AZURE_SINCE;
}

/**
 * Returns the body that also asks for the usage of its stream, where the gateway needs it and the provider sends it only
 * when asked. Null for all other requests, which go out as they came.
 */
export function askingBody(
  step: Step,
  call: Call,
  { targets, recorder }: UsageQuestion,
): Uint8Array | null {
  if (call.settings.stream_usage === false || tellsUsage(step, targets) !== "asked") return null;
  if (!recorder.wantsUsage(call)) return null;
  const request = streamRequest(step);
  if (request === null || request.asks || !takesQuestion(step, request)) return null;
  const { body, bytes } = request;
  if ("stream_options" in body) {
    const options = { ...optionsOf(body), include_usage: true };
    return utf8(JSON.stringify({ ...body, stream_options: options }));
  }
  const end = bytes.lastIndexOf(CLOSE);
  const asking = new Uint8Array(bytes.length + QUESTION.length);
  asking.set(bytes.subarray(0, end));
  asking.set(QUESTION, end);
  asking.set(bytes.subarray(end), end + QUESTION.length);
  return asking;
}

const CLOSE = 0x7d;

const QUESTION = utf8(',"stream_options":{"include_usage":true}');

/** Whether a step asks for a stream without a usage report, so that its cost cannot be known. */
export function hidesUsage(step: Step, call: Call, targets: ConfiguredTargets): boolean {
  const tells = tellsUsage(step, targets);
  if (tells === "told") return false;
  const request = streamRequest(step);
  if (request === null || request.asks) return false;
  return tells === null || call.settings.stream_usage === false || !takesQuestion(step, request);
}

/** Whether a header is about encodings, in which neither the question nor its answer may travel. */
export function isEncoding(name: string): boolean {
  return ENCODING.has(name);
}

/** Returns the answer as it would have come unasked. */
export function unasked(
  answer: InboundResponse,
  { decoding, transport }: UnaskedParts,
): InboundResponse {
  const type = headerValue(answer.headers, "content-type") ?? "";
  if (answer.status !== 200 || !/^text\/event-stream\b/i.test(type)) return answer;
  const encoding = headerValue(answer.headers, "content-encoding") ?? "";
  // No answer should have one; what cannot be undone here the client undoes.
  if (encoding !== "" && decoding.readable(encoding) === "") return answer;
  const body = plainBody(answer, decoding);
  const headers = answer.headers.filter(
    ([name]) => name !== "content-length" && name !== "content-encoding",
  );
  return { ...answer, headers, body: withoutUnasked(body, transport) };
}

function withoutUnasked(
  body: InboundResponse["body"],
  transport: UnaskedParts["transport"],
): InboundResponse["body"] {
  if (body === null) return null;
  const change = withoutUnaskedUsage();
  if (body instanceof Uint8Array) {
    const [first, last] = [change.push(body), change.end()];
    return last.length === 0 ? first : new Uint8Array([...first, ...last]);
  }
  // Chunks straight from the network have no other user: a log row copies its part.
  const isChanged = transport.change?.(body, withoutUnaskedUsage(true)) === true;
  return isChanged ? body : changedStream(body, change);
}
