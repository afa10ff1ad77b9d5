import { crc32 } from "../crypto/crc32.ts";
import { utf8 } from "../crypto/encoding.ts";

const PREFIX = "causey_";
/** Behind {@link PREFIX}: makes a token a virtual key of the gateway. */
const KEY_MARK = "vk_";
/** Behind {@link PREFIX}: makes a token one of a link to the portal of webhooks. */
const LINK_MARK = "wl_";
const MARKS = [KEY_MARK, LINK_MARK];
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_LENGTH = 40;
const CHECKSUM_LENGTH = 6;

/**
 * Makes an API token: a prefix that secret scanners can look for, 40 random base-62 digits (238 bits) and their CRC-32.
 * A mistyped or invented token is refused without a look at the store.
 */
export function newToken(random: (length: number) => Uint8Array): string {
  return `${PREFIX}${newSecret(random)}`;
}

/** Makes a virtual key: as {@link newToken}, with a prefix of its own. */
export function newKey(random: (length: number) => Uint8Array): string {
  return `${PREFIX}${KEY_MARK}${newSecret(random)}`;
}

/** Makes the token of a link to the portal: as {@link newToken}, with a prefix of its own. */
export function newLinkToken(random: (length: number) => Uint8Array): string {
  return `${PREFIX}${LINK_MARK}${newSecret(random)}`;
}

function newSecret(random: (length: number) => Uint8Array): string {
  let secret = "";
  while (secret.length < SECRET_LENGTH) {
    for (const byte of random(SECRET_LENGTH)) {
      // 248 is the largest multiple of 62 in a byte: dropping the rest keeps every digit equally likely.
      if (byte < 248 && secret.length < SECRET_LENGTH) secret += DIGITS.charAt(byte % 62);
    }
  }
  return `${secret}${checksum(secret)}`;
}

/** Whether a text has the form of an API token, checksum included. It says nothing about its validity. */
export function isTokenShaped(text: string): boolean {
  return text.startsWith(PREFIX) && isSecret(text.slice(PREFIX.length));
}

/** Whether a text has the form of a virtual key, checksum included. It says nothing about its validity. */
export function isKeyShaped(text: string): boolean {
  return isMarked(text, KEY_MARK);
}

/** Whether a text has the form of {@link newLinkToken}, checksum included. It says nothing about its validity. */
export function isLinkShaped(text: string): boolean {
  return isMarked(text, LINK_MARK);
}

function isMarked(text: string, mark: string): boolean {
  const prefix = PREFIX + mark;
  return text.startsWith(prefix) && isSecret(text.slice(prefix.length));
}

function isSecret(text: string): boolean {
  if (text.length !== SECRET_LENGTH + CHECKSUM_LENGTH) return false;
  const secret = text.slice(0, SECRET_LENGTH);
  return /^[0-9A-Za-z]+$/.test(secret) && text.endsWith(checksum(secret));
}

/** Whether a text contains something in the form of an API token, a virtual key or the token of a link. */
export function hasTokenShape(text: string): boolean {
  if (text.length < PREFIX.length + SECRET_LENGTH + CHECKSUM_LENGTH) return false;
  for (let at = text.indexOf(PREFIX); at !== -1; at = text.indexOf(PREFIX, at + 1)) {
    const after = at + PREFIX.length;
    const mark = MARKS.find((one) => text.startsWith(one, after)) ?? "";
    const start = after + mark.length;
    if (isSecret(text.slice(start, start + SECRET_LENGTH + CHECKSUM_LENGTH))) return true;
  }
  return false;
}

/** CRC-32 as six base-62 digits. */
function checksum(text: string): string {
  let rest = crc32(utf8(text));
  let out = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    out = DIGITS.charAt(rest % 62) + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
