import { sha256Hex } from "../crypto/digest.ts";
import { fromBase64, toBase64 } from "../crypto/encoding.ts";
import { qualityOf } from "../text/accept.ts";

/** A text that is built with the package; `tag` changes with it. */
export interface BuiltText {
  readonly tag: string;
  readonly text: string;
}

/** A {@link BuiltText} in few bytes: gzip in Base64. */
export interface PackedText {
  readonly tag: string;
  readonly gzip: string;
}

/** Packs a text that is made while the server runs. */
export async function packText(text: string): Promise<PackedText> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return { tag: (await sha256Hex(text)).slice(0, 16), gzip: toBase64(bytes) };
}

export async function unpacked({ tag, gzip }: PackedText): Promise<BuiltText> {
  const bytes = new Blob([fromBase64(gzip) ?? ""]).stream();
  const text = await new Response(bytes.pipeThrough(new DecompressionStream("gzip"))).text();
  return { tag, text };
}

/** Answers with a built text, compressed if the client accepts that; 304 if the client has it already. */
export function builtText(
  request: Request,
  { tag, text }: BuiltText,
  own: Readonly<Record<string, string>>,
): Response {
  const headers = headersOf(tag, own);
  if (isKnown(request, tag)) return new Response(null, { status: 304, headers });
  if (!takesGzip(request)) return new Response(text, { headers });
  const packed = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
  return new Response(packed, compressed(headers));
}

/** Does {@link builtText} with a text as it was packed: a client that accepts gzip gets these bytes. */
export async function packedText(
  request: Request,
  packed: PackedText,
  own: Readonly<Record<string, string>>,
): Promise<Response> {
  const { tag, gzip } = packed;
  if (isKnown(request, tag)) return builtText(request, { tag, text: "" }, own);
  if (!takesGzip(request)) return builtText(request, await unpacked(packed), own);
  return new Response(fromBase64(gzip), compressed(headersOf(tag, own)));
}

function headersOf(tag: string, own: Readonly<Record<string, string>>): Record<string, string> {
  return {
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    vary: "accept-encoding",
    etag: `"${tag}"`,
    ...own,
  };
}

function isKnown(request: Request, tag: string): boolean {
  return request.headers.get("if-none-match")?.includes(`"${tag}"`) === true;
}

function takesGzip(request: Request): boolean {
  return qualityOf(request.headers.get("accept-encoding"), "gzip", "*") > 0;
}

/** Workers would compress once more: https://developers.cloudflare.com/workers/runtime-apis/response/ */
function compressed(headers: Readonly<Record<string, string>>): ResponseInit {
  const init = {
    headers: { ...headers, "content-encoding": "gzip" },
    encodeBody: "manual" as const,
  };
  return init;
}
