import { readBytes } from "../../http/fields/body.ts";
import { prepareKey, type Secret } from "../signing/keys.ts";
import { schemeOf } from "./source.ts";
import type { SourceOptions } from "./source-options.ts";
import { type Refusal, verify } from "../signing/verify.ts";

/** Options of {@link verifyWebhook}. */
export interface VerifyWebhookOptions extends Pick<
  SourceOptions,
  "header" | "scheme" | "secret" | "secrets" | "toleranceSeconds"
> {
  /** The time in Unix ms; needed if the scheme signs a time or a secret expires. */
  readonly now?: number;
  /** The address that the sender called, where it is signed and a proxy or a host has changed it. @default the request's */
  readonly url?: string;
  /** Bytes of the body; more is an `ApiError` (413). @default 1 MiB */
  readonly maxBodyBytes?: number;
}

/** The result of {@link verifyWebhook}: the raw body of a correctly signed request, or the reason for refusing it. */
export type WebhookVerdict =
  | { readonly valid: true; readonly body: Uint8Array }
  | { readonly valid: false; readonly reason: Refusal };

/**
 * Verifies one webhook by itself, without a platform: the signature over the raw bytes, in constant time. Reads the
 * request's body, which is handed on only when it is valid. Throws `TypeError` for options that cannot be right.
 *
 * @example
 * ```ts
 * import { verifyWebhook } from "causey/webhooks";
 *
 * export async function receive(request: Request, secret: string): Promise<Response> {
 *   const verdict = await verifyWebhook(request, { scheme: "github", secret });
 *   if (!verdict.valid) return new Response(verdict.reason, { status: 401 });
 *   const event: unknown = JSON.parse(new TextDecoder().decode(verdict.body));
 *   return Response.json({ received: event });
 * }
 * ```
 */
export async function verifyWebhook(
  request: Request,
  options: VerifyWebhookOptions,
): Promise<WebhookVerdict> {
  const where = "webhook";
  const scheme = schemeOf(options, where);
  const given = [
    ...(options.secret === undefined ? [] : [options.secret]),
    ...(options.secrets ?? []),
  ];
  if (given.length === 0) throw new TypeError("The webhook has no secret");
  const keys = given.map((one: string | Secret) => prepareKey(scheme, one, where));
  const needsTime = typeof scheme.timestamp?.toleranceSeconds === "number";
  if (options.now === undefined && (needsTime || keys.some(({ expires }) => expires < Infinity))) {
    throw new TypeError(
      "The webhook's signature or secret ends with time: pass the time as now, in Unix ms",
    );
  }
  const { method, headers } = request;
  const url = options.url ?? request.url;
  const body = await readBytes(request, options.maxBodyBytes ?? 1024 * 1024);
  const reason = await verify(scheme, keys, { method, url, headers, body }, options.now ?? 0);
  return reason === null ? { valid: true, body } : { valid: false, reason };
}
