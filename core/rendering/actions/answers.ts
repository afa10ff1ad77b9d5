import { utf8 } from "../../crypto/encoding.ts";
import { headerString } from "../../http/header-text.ts";
import { longResponse } from "../../http/long-response.ts";
import { envelopeBody } from "../../http/envelope.ts";
import { cutText, jsonPieces } from "../../http/json/json-pieces.ts";
import { joinInParts } from "../../http/stream.ts";
import { bytesOf, type Picture } from "./actions.ts";
import type { System } from "../../ports.ts";
import type { ScreenshotBody } from "../input/body.ts";
import type { FailedFile } from "../page/page-files.ts";
import { PDF } from "../pdf/pdf-reader.ts";
import type { PageMeta, Rendered } from "../page/render.ts";

/** A result in an envelope, with what is known of its page; a long one is written in parts, so that others go on in between. */
export async function answerInEnvelope<T>(
  { result, meta }: Rendered<T>,
  system: System,
  signal: AbortSignal,
): Promise<Response> {
  const body = await inParts(
    jsonPieces(envelopeBody(result, { meta: { ...meta } })),
    system,
    signal,
  );
  const headers = { "content-type": "application/json; charset=utf-8" };
  return longResponse(body, headers);
}

/** Characters that are written before others go on: some milliseconds of work. */
const WRITTEN = 1024 * 1024;

/** The text of all pieces; a long one in UTF-8. */
async function inParts(
  pieces: Iterable<string>,
  system: System,
  signal: AbortSignal,
): Promise<string | Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length < WRITTEN) continue;
    parts.push(utf8(text));
    text = "";
    await system.sleep(0, signal);
  }
  return parts.length === 0 ? text : joinInParts([...parts, utf8(text)], { system });
}

/** The bytes of a PDF. */
export function answerPdf({ result, meta }: Rendered<Uint8Array<ArrayBuffer>>): Response {
  return binary(result, PDF, meta);
}

/** A picture, as the body wants it. */
export async function answerPicture(
  { result, meta }: Rendered<Picture>,
  body: ScreenshotBody,
  system: System,
  signal: AbortSignal,
): Promise<Response> {
  if (body.screenshotOptions?.encoding !== "base64")
    return binary(await bytesOf(result.base64, system, signal), result.type, meta);
  const text = await inParts(cutText(result.base64), system, signal);
  const headers = { "content-type": "text/plain; charset=utf-8", ...factHeaders(meta) };
  return longResponse(text, headers);
}

function binary(bytes: Uint8Array<ArrayBuffer>, type: string, meta: PageMeta): Response {
  const headers = {
    "content-type": type,
    "content-length": String(bytes.byteLength),
    ...factHeaders(meta),
  };
  return longResponse(bytes, headers);
}

/** The part of an answer without an envelope that describes its page. */
function factHeaders(meta: PageMeta): Readonly<Record<string, string>> {
  const { partial } = meta;
  return {
    ...(partial === undefined ? {} : { "x-partial": headerString(partial) }),
    ...missingFontsOf(meta),
    ...failedFiles(meta),
  };
}

/** The header of missing fonts: a list of strings with parameters (RFC 9651). */
function missingFontsOf({ missingFonts = [] }: PageMeta): Readonly<Record<string, string>> {
  if (missingFonts.length === 0) return {};
  const fonts = missingFonts.map(
    ({ kind, character, install }) =>
      `${headerString(kind)};character=${headerString(character)};install=${headerString(install)}`,
  );
  return { "x-missing-fonts": fonts.join(", ") };
}

/** The header of missing files: a list of strings with parameters (RFC 9651). */
function failedFiles(meta: PageMeta): Readonly<Record<string, string>> {
  const { failedFiles: failed = [], failedFilesTotal: total } = meta;
  if (failed.length === 0) return {};
  return {
    "x-failed-files": failed.map(failedFile).join(", "),
    ...(total === undefined ? {} : { "x-failed-files-total": String(total) }),
  };
}

function failedFile({ url, type, reason, detail }: FailedFile): string {
  return `${headerString(url)};type=${type};reason=${reason};detail=${headerString(detail)}`;
}
