import { fromBase64 } from "../crypto/encoding.ts";

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

/** Returns the text that was packed. */
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
  const etag = `"${tag}"`;
  const headers = {
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    vary: "accept-encoding",
    etag,
    ...own,
  };
  if (request.headers.get("if-none-match")?.includes(etag) === true)
    return new Response(null, { status: 304, headers });
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? ""))
    return new Response(text, { headers });
  const packed = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
  // Workers would compress once more: https://developers.cloudflare.com/workers/runtime-apis/response/
  const init = {
    headers: { ...headers, "content-encoding": "gzip" },
    encodeBody: "manual" as const,
  };
  return new Response(packed, init);
}
