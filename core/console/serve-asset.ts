import { assets } from "./assets.ts";

/** Nothing but the console's own files: no other origin, no inline script, no frame around it. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-src blob:",
  "object-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const types: Readonly<Record<string, string>> = {
  "": "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
};

/** One file of the console, compressed where the browser takes that; `path` is where it is mounted. */
export function serveAsset(name: string, request: Request, path: string): Response {
  const { text, tag } = assets[name] ?? { text: "", tag: "" };
  const etag = `"${tag}"`;
  const headers: Record<string, string> = {
    "content-type": types[name] ?? "text/plain",
    "content-security-policy": CSP,
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    vary: "accept-encoding",
    etag,
  };
  if (request.headers.get("if-none-match")?.includes(etag) === true)
    return new Response(null, { status: 304, headers });
  const body = name === "" ? text.replaceAll("/console/", `${path}/`) : text;
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? ""))
    return new Response(body, { headers });
  const packed = new Response(body).body?.pipeThrough(new CompressionStream("gzip"));
  // Workers would compress once more: https://developers.cloudflare.com/workers/runtime-apis/response/
  const init = {
    headers: { ...headers, "content-encoding": "gzip" },
    encodeBody: "manual" as const,
  };
  return new Response(packed, init);
}
