import { ApiError } from "../../http/api-error.ts";
import type { RequestSource, Scheme } from "../signing/scheme.ts";
import { type SignedRequest, sourceReader } from "../signing/signed-content.ts";
import type { Refusal } from "../signing/verify.ts";
import type { WebhookSource } from "./source.ts";

/**
 * Makes the 401 for a signature. It says where the signature was read and how it was checked. Strangers read it, so it holds
 * nothing of a secret, nor whether an entity has one.
 */
export function refusedSignature(
  refusal: Refusal,
  source: Pick<WebhookSource, "scheme" | "ofEntity">,
  request: SignedRequest,
): ApiError {
  const { scheme } = source;
  const read = sourceReader(request);
  const given = scheme.signature.filter((one) => read(one));
  const place = (given.length > 0 ? given : scheme.signature).map(placeOf).join(" or ");
  const seconds = scheme.timestamp?.toleranceSeconds ?? 0;
  const messages: Record<Refusal, string> = {
    missing: `The signature is missing: expected it in ${place}`,
    malformed: `The signature is malformed: expected ${formOf(scheme)} in ${place}`,
    stale: `The signed timestamp is too far from the time of this server: at most ${seconds} seconds are allowed; check both clocks, and sign again instead of repeating an old request`,
    mismatch: `The signature does not match: ${place} was ${checkOf(scheme)} ${keyOf(source)}; give both sides the same one, and let nothing change the body on its way`,
  };
  return new ApiError("signature_invalid", { message: messages[refusal], cause: refusal });
}

/** The place of a signature in words. */
function placeOf(source: RequestSource): string {
  const at = source.indexOf(":");
  const [kind, name] = [source.slice(0, at), source.slice(at + 1)];
  return `${kind === "query" ? "the parameter" : kind === "body" ? "the field" : "the header"} "${name}"`;
}

/** The form of a signature, as an example. */
function formOf({ algorithm, encoding, format, timestamp }: Scheme): string {
  const value =
    algorithm === "jwt"
      ? "a JSON Web Token"
      : algorithm === "token"
        ? "the token"
        : encoding === "hex"
          ? "<lower-case hex>"
          : "<base64>";
  const time = timestamp === undefined ? "" : ` and a signed time (${timestamp.unit})`;
  if (format.kind === "versions") return `"v1,${value}"${time}`;
  if (format.kind === "pairs") return `"${format.key}=${value}"${time}`;
  return `"${format.prefix ?? ""}${value}"${time}`;
}

function checkOf({ algorithm, content }: Scheme): string {
  if (algorithm === "token") return "compared with";
  if (algorithm === "jwt") return "checked as a JSON Web Token by";
  return `checked as ${algorithm} of "${content}" by`;
}

function keyOf({ scheme, ofEntity }: Pick<WebhookSource, "scheme" | "ofEntity">): string {
  const { algorithm, certificate, jwt } = scheme;
  if (certificate !== undefined || (jwt !== undefined && jwt.keys !== "secret"))
    return "the published keys of the sender";
  const key = algorithm === "ed25519" || algorithm === "ecdsa-p256" ? "public key" : "secret";
  return `the ${key} of this source${ofEntity.size > 0 ? ", or that of the entity in the path" : ""}`;
}
