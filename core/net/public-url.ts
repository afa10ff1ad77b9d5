import { invalidOptions } from "../http/api-error.ts";
import { publicUrl } from "../http/mount-path.ts";

/** Whether a text can be the option `publicUrl`: the origin that clients use, such as `https://ai.example.com`. */
export function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.parse(text)?.origin === text;
}

/** Checks the option `publicUrl`; throws `invalid_options` for anything but an origin. */
export function checkPublicUrl(text: string | undefined): string | undefined {
  if (text === undefined || isOrigin(text)) return text;
  throw invalidOptions(
    `publicUrl: expected scheme, host and port such as "https://ai.example.com", without a path, got "${text.slice(0, 100)}"`,
  );
}

/** This machine's own names, which no other machine can follow. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The origin for addresses in answers, empty where only a path can be given: `Host` is what the caller says, and caches
 * and proxies may hand one caller's answer to others.
 */
export function answerOrigin(request: Request, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  const { origin, hostname } = new URL(publicUrl(request));
  return LOOPBACK.test(hostname) ? origin : "";
}
