import { toHex } from "../../crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../crypto/hmac.ts";
import { json } from "../../http/envelope.ts";
import { type Payload, textAt } from "../signing/pick.ts";
import type { WebhookSource } from "./source.ts";

/** Longest challenge that is echoed. */
const CHALLENGE_LIMIT = 1024;

/** The answer to a provider's test request, after its signature was verified; null for an event. */
export async function answerHandshake(
  source: WebhookSource,
  payload: Payload,
  secret: string,
): Promise<Response | null> {
  switch (source.scheme.handshake) {
    case "slack-challenge": {
      const challenge = textAt(payload, "challenge");
      if (textAt(payload, "type") !== "url_verification" || challenge === null) return null;
      return json({ challenge });
    }
    case "zoom-validation": {
      const plainToken = textAt(payload, "payload.plainToken");
      if (textAt(payload, "event") !== "endpoint.url_validation" || plainToken === null)
        return null;
      const key = await hmacKey(secret);
      return json({ plainToken, encryptedToken: toHex(await hmacSign(key, plainToken)) });
    }
    case "discord-ping":
      return textAt(payload, "type") === "1" ? json({ type: 1 }) : null;
    default:
      return null;
  }
}

/**
 * The answer to a test request that comes as GET, before anything is signed (Dropbox); null for other sources. Plain
 * text and `nosniff`, so that an echoed challenge is never a document.
 */
export function answerGet(source: WebhookSource, url: string): Response | null {
  if (source.scheme.handshake !== "get-challenge") return null;
  const challenge = new URL(url).searchParams.get("challenge");
  if (challenge === null || challenge.length > CHALLENGE_LIMIT) return null;
  return new Response(challenge, {
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  });
}
