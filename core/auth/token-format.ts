import { utf8 } from "../crypto/encoding.ts";

const PREFIX = "causey_";
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_LENGTH = 40;
const CHECKSUM_LENGTH = 6;

/**
 * Makes an API token: a prefix that secret scanners can look for, 40 random base-62 digits (238 bits)
 * and their CRC-32, so that a mistyped or invented token is refused without a look at the store.
 */
export function newToken(random: (length: number) => Uint8Array): string {
  let secret = "";
  while (secret.length < SECRET_LENGTH) {
    for (const byte of random(SECRET_LENGTH)) {
      // 248 is the largest multiple of 62 in a byte: dropping the rest keeps every digit equally likely.
      if (byte < 248 && secret.length < SECRET_LENGTH) secret += DIGITS.charAt(byte % 62);
    }
  }
  return `${PREFIX}${secret}${checksum(secret)}`;
}

/** Whether a text has the form of an API token, checksum included. It says nothing about its validity. */
export function isTokenShaped(text: string): boolean {
  if (text.length !== PREFIX.length + SECRET_LENGTH + CHECKSUM_LENGTH || !text.startsWith(PREFIX))
    return false;
  const secret = text.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return /^[0-9A-Za-z]+$/.test(secret) && text.endsWith(checksum(secret));
}

/** Whether a text contains something in the form of an API token. */
export function hasTokenShape(text: string): boolean {
  if (text.length < PREFIX.length + SECRET_LENGTH + CHECKSUM_LENGTH) return false;
  for (let at = text.indexOf(PREFIX); at !== -1; at = text.indexOf(PREFIX, at + 1)) {
    if (isTokenShaped(text.slice(at, at + PREFIX.length + SECRET_LENGTH + CHECKSUM_LENGTH)))
      return true;
  }
  return false;
}

/** CRC-32 (the polynomial of IEEE 802.3) as six base-62 digits. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of utf8(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let out = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    out = DIGITS.charAt(rest % 62) + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
