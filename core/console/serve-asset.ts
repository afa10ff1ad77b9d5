import { builtText } from "../http/built-text.ts";
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

/** One file of the console; `path` is where it is mounted. */
export function serveAsset(name: string, request: Request, path: string): Response {
  const { text, tag } = assets[name] ?? { text: "", tag: "" };
  const body = name === "" ? text.replaceAll("/console/", `${path}/`) : text;
  return builtText(
    request,
    { tag, text: body },
    { "content-type": types[name] ?? "text/plain", "content-security-policy": CSP },
  );
}
