const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const encoder = new TextEncoder();

/** Encodes text as UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Bytes that {@link utf8Counter} writes at once. */
const BLOCK = 16 * 1024;

/** Makes a function that counts the bytes of texts in UTF-8. It allocates none, which is most of what encoding costs. */
export function utf8Counter(): (text: string) => number {
  const block = new Uint8Array(BLOCK);
  return (text) => {
    let bytes = 0;
    for (let at = 0; at < text.length;) {
      const { read, written } = encoder.encodeInto(at === 0 ? text : text.slice(at), block);
      at += read;
      bytes += written;
    }
    return bytes;
  };
}

/** Lower-case hexadecimal digits of the bytes. */
export function toHex(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) out += HEX[byte] ?? "";
  return out;
}

/** Bytes of a lower-case hexadecimal string; null when it is anything else (upper case is refused). */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> | null {
  if (hex.length % 2 !== 0) return null;
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    const high = digit(hex.charCodeAt(2 * i));
    const low = digit(hex.charCodeAt(2 * i + 1));
    if (high === -1 || low === -1) return null;
    bytes[i] = (high << 4) | low;
  }
  return bytes;
}

/** Value of a digit: "0" is 0x30, "a" is 0x61; -1 for anything else. */
function digit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}

/** Standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  return bytes.length > 1024 ? longToBase64(bytes) : btoa(String.fromCharCode(...bytes));
}

const BASE64 = encoder.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
/** The two digits of each number of 12 bits, as they lie in memory. */
const DIGIT_PAIRS = new Uint16Array(
  Uint8Array.from({ length: 8192 }, (_, i) => BASE64[i % 2 === 0 ? i >> 7 : (i >> 1) & 63] ?? 0)
    .buffer,
);

/** Takes a twentieth of the time of `btoa` for megabytes, because `btoa` first needs every byte as a character. */
function longToBase64(bytes: Uint8Array): string {
  const whole = bytes.length - (bytes.length % 3);
  const out = new Uint16Array((whole / 3) * 2);
  let to = 0;
  for (let i = 0; i < whole; i += 3) {
    const three = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    out[to++] = DIGIT_PAIRS[three >> 12] ?? 0;
    out[to++] = DIGIT_PAIRS[three & 4095] ?? 0;
  }
  return new TextDecoder().decode(out) + btoa(String.fromCharCode(...bytes.subarray(whole)));
}

/** Bytes of a standard base64 string (padding required, no white space); null when it is anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

/** URL-safe base64 without padding (RFC 4648 section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Bytes of URL-safe base64 without padding; null when it is anything else. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[\w-]*$/.test(text)) return null;
  const padding = "=".repeat((4 - (text.length % 4)) % 4);
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/") + padding);
}
