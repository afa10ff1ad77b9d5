import { envelope } from "../../http/envelope.ts";
import { bytesOf, type Picture } from "./actions.ts";
import type { System } from "../../ports.ts";
import type { ScreenshotBody } from "../input/body.ts";
import type { FailedFile } from "../page/page-files.ts";
import { PDF } from "../pdf/pdf-reader.ts";
import type { PageMeta, Rendered } from "../page/render.ts";

/** A result in an envelope, with what is known of its page. */
export function inEnvelope<T>({ result, meta }: Rendered<T>): Response {
  return envelope(result, { meta: { ...meta } });
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
  return new Response(result.base64, {
    headers: { "content-type": "text/plain; charset=utf-8", ...failedFiles(meta) },
  });
}

function binary(bytes: Uint8Array<ArrayBuffer>, type: string, meta: PageMeta): Response {
  return new Response(bytes, {
    headers: {
      "content-type": type,
      "content-length": String(bytes.byteLength),
      ...failedFiles(meta),
    },
  });
}

/** The header of an answer without an envelope: a list of strings with parameters (RFC 9651). */
function failedFiles({ failedFiles: failed = [] }: PageMeta): Readonly<Record<string, string>> {
  if (failed.length === 0) return {};
  return { "x-failed-files": failed.map(failedFile).join(", ") };
}

function failedFile({ url, type, reason, detail }: FailedFile): string {
  return `${quoted(url)};type=${type};reason=${reason};detail=${quoted(detail)}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/gu, "?").replaceAll(/["\\]/gu, "\\$&")}"`;
}
