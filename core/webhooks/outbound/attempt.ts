import { contentDecoding, decodedStream } from "../../http/body/content-decoder.ts";
import { firstBytes } from "../../http/stream.ts";
import { fromBase64, toBase64, toHex, utf8 } from "../../crypto/encoding.ts";
import { signOnce } from "../../crypto/hmac.ts";
import { headerText } from "../../http/header-text.ts";
import type { HeaderPair, InboundResponse, System, Transport } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { AttemptResult } from "./retry-policy.ts";
import { isEd25519, signEd25519 } from "../signing/ed25519.ts";
import { textAt } from "../signing/pick.ts";
import { withinMs } from "../../time/within-ms.ts";

/** Seconds for connect, headers and body together, unless the endpoint sets its own number. */
export const TIMEOUT_DEFAULT_S = 15;
/** Bytes of an answer that are read and kept. */
const BODY_LIMIT = 8192;
const ERROR_LIMIT = 500;

/** The message that is sent to one endpoint. */
export interface OutboundMessage {
  readonly id: string;
  readonly type: string;
  /** Serialised JSON: the very bytes that are signed and sent. */
  readonly payload: string;
}

/**
 * The headers of a signed request: Standard Webhooks with every live secret, and `X-Signature` with
 * the newest HMAC one. `X-Signature` takes the secret's text as key, as the inbound scheme `generic` does.
 */
export async function signedHeaders(
  message: OutboundMessage,
  secrets: readonly string[],
  system: Pick<System, "hmac" | "now">,
): Promise<HeaderPair[]> {
  const timestamp = String(Math.floor(system.now() / 1000));
  const content = `${message.id}.${timestamp}.${message.payload}`;
  const signatures: string[] = [];
  for (const secret of secrets) {
    if (isEd25519(secret)) {
      signatures.push(`v1a,${toBase64(await signEd25519(secret, utf8(content)))}`);
      continue;
    }
    const key = fromBase64(secret.replace(/^whsec_/, "")) ?? secret;
    signatures.push(`v1,${toBase64(await signOnce(system, key, content))}`);
  }
  const headers: HeaderPair[] = [
    ["webhook-id", message.id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", signatures.join(" ")],
    ["x-webhook-event", headerText(message.type)],
  ];
  const newest = secrets.find((secret) => !isEd25519(secret));
  if (newest !== undefined) {
    const signature = await signOnce(system, newest, message.payload);
    headers.push(["x-signature", `sha256=${toHex(signature)}`]);
  }
  return headers;
}

/** The body for a chat service: one field, `text`. */
export function chatBody(message: OutboundMessage): string {
  const payload = { value: JSON.parse(message.payload) as unknown, text: message.payload };
  return JSON.stringify({
    text: textAt(payload, "text") ?? `${message.type}: ${message.payload.slice(0, 2000)}`,
  });
}

export interface EndpointRequest {
  readonly url: string;
  /** Headers beside its content type. */
  readonly extra: readonly HeaderPair[];
  readonly body: string;
  /** Time for connect, headers and body together, in ms. */
  readonly timeoutMs: number;
}

/** Sends one request and reads the beginning of the answer. Never throws. */
export async function attempt(
  transport: Transport,
  system: System,
  { url, extra, body, timeoutMs }: EndpointRequest,
): Promise<AttemptResult> {
  const started = system.monotonic();
  const late = (): Error =>
    new TransportError("aborted", `No complete answer within ${timeoutMs} ms`);
  const base = { retryAfter: null, refused: false, body: "", headers: null };
  const headers: HeaderPair[] = [
    ["content-type", "application/json"],
    ["user-agent", "causey-webhooks"],
    ...extra,
  ];
  const send = async (signal: AbortSignal): Promise<readonly [InboundResponse, string]> => {
    const response = await transport.send({
      method: "POST",
      url,
      headers,
      body: utf8(body),
      signal,
    });
    return [response, await beginning(response, system)];
  };
  try {
    const limit = { ms: timeoutMs, signal: undefined, system, late };
    const [response, text] = await withinMs(limit, send);
    const retryAfter = response.headers.find(([name]) => name === "retry-after")?.[1] ?? null;
    const { status } = response;
    const error = status >= 200 && status < 300 ? null : `The endpoint answered ${status}`;
    const kept = keptHeaders(response.headers);
    const durationMs = system.monotonic() - started;
    return { ...base, status, error, retryAfter, body: text, headers: kept, durationMs };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const refused = error instanceof TransportError && error.reason === "refused";
    return {
      ...base,
      status: null,
      error: text.slice(0, ERROR_LIMIT),
      refused,
      durationMs: system.monotonic() - started,
    };
  }
}

/** At most {@link BODY_LIMIT} bytes of the body, without its encoding; the rest is not read. */
async function beginning(
  { body, headers }: InboundResponse,
  system: Pick<System, "decoder">,
): Promise<string> {
  if (body === null) return "";
  const encoding = headers.find(([name]) => name === "content-encoding")?.[1];
  const decoder = encoding === undefined ? null : contentDecoding(system).decoder(encoding);
  if (decoder !== null) {
    const stream = body instanceof Uint8Array ? new Blob([new Uint8Array(body)]).stream() : body;
    // A body that is not what it says it is does not make a delivery fail.
    const bytes = await firstBytes(decodedStream(stream, decoder), BODY_LIMIT).catch(() => null);
    return bytes === null ? "" : new TextDecoder().decode(bytes, { stream: true });
  }
  const bytes =
    body instanceof Uint8Array ? body.subarray(0, BODY_LIMIT) : await firstBytes(body, BODY_LIMIT);
  return new TextDecoder().decode(bytes, { stream: bytes.length === BODY_LIMIT });
}

const SECRET_HEADER = /cookie|auth|token|secret|signature|api-?key|session/i;

/** The first headers of an answer as JSON; values of sensitive ones are left out. */
function keptHeaders(headers: readonly HeaderPair[]): string {
  const kept = headers
    .slice(0, 32)
    .map(([name, value]) => [
      name.slice(0, 64),
      SECRET_HEADER.test(name) ? "[redacted]" : value.slice(0, 256),
    ]);
  return JSON.stringify(Object.fromEntries(kept));
}
