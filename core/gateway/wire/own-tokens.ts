import { fromBase64 } from "../../crypto/encoding.ts";

/** The texts in a header or query value that can be a whole credential: what follows a scheme, the values of a list. */
export function credentialsIn(value: string): string[] {
  const words = value
    .split(/[,;]/)
    .flatMap((part) => [
      part,
      part.slice(part.indexOf("=") + 1),
      part.slice(part.trimEnd().lastIndexOf(" ") + 1),
    ]);
  const pair = basicCredentials(value);
  if (pair !== null)
    words.push(pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1));
  const plain = [value, ...words].map((word) => word.trim().replaceAll(/^"|"$/g, ""));
  return [...new Set(plain)].filter((word) => word !== "");
}

/** User and password, joined by a colon, of a `Basic` header value (RFC 7617); null for any other. */
export function basicCredentials(value: string): string | null {
  const basic = /^basic\s+([A-Za-z0-9+/=]+)\s*$/i.exec(value)?.[1];
  const decoded = basic === undefined ? null : fromBase64(basic);
  return decoded === null ? null : new TextDecoder().decode(decoded);
}

/** A query or header value without percent-encoding, as a reader takes it; as it stands when it cannot be decoded. */
export function decodedValue(value: string): string {
  if (!/[%+]/.test(value)) return value;
  try {
    return decodeURIComponent(value.replaceAll("+", " "));
  } catch {
    return value;
  }
}
