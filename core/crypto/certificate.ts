import { fromBase64 } from "./encoding.ts";

/** The parts of an X.509 certificate (RFC 5280, section 4.1) that verifying a signature takes. */
export interface Certificate {
  /** The public key as SubjectPublicKeyInfo. */
  readonly spki: Uint8Array<ArrayBuffer>;
  /** Validity, Unix ms. */
  readonly notBefore: number;
  readonly notAfter: number;
}

const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/;

const SEQUENCE = 0x30;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
/** The explicit tag of a certificate's version. */
const VERSION = 0xa0;

/** Reads the first certificate of a PEM text, which is the signer's own in a chain; null when it is malformed. */
export function readCertificate(pem: string): Certificate | null {
  const [, base64 = ""] = PEM.exec(pem) ?? [];
  const der = fromBase64(base64.replaceAll(/\s/g, ""));
  if (der === null) return null;
  const parts = sequenceAt(der, sequenceAt(der, 0)[0]?.at);
  // version?, serial, algorithm, issuer, validity, subject, key
  const first = parts[0]?.tag === VERSION ? 1 : 0;
  const validity = validityAt(der, parts[first + 3]?.at);
  const key = parts[first + 5];
  if (key?.tag !== SEQUENCE || validity === null) return null;
  return { spki: der.slice(key.at, key.end), ...validity };
}

function validityAt(der: Uint8Array, place: number | undefined): Omit<Certificate, "spki"> | null {
  const [from, to] = sequenceAt(der, place);
  const notBefore = timeOf(der, from);
  const notAfter = timeOf(der, to);
  return notBefore === null || notAfter === null ? null : { notBefore, notAfter };
}

/** One element of DER (X.690, section 8.1): its content is from `start` to `end`. */
interface Element {
  readonly tag: number;
  readonly at: number;
  readonly start: number;
  readonly end: number;
}

function element(der: Uint8Array, at: number): Element | null {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined) return null;
  let length = first;
  let start = at + 2;
  if (first > 0x7f) {
    const bytes = first & 0x7f;
    // Three bytes are 16 MiB; certificates have a few KiB.
    if (bytes === 0 || bytes > 3) return null;
    length = 0;
    for (let i = 0; i < bytes; i++) length = length * 256 + (der[start + i] ?? 0);
    start += bytes;
  }
  const end = start + length;
  return end > der.length ? null : { tag, at, start, end };
}

/** The elements of the sequence at a place; empty for anything else, and for a sequence that they do not fill. */
function sequenceAt(der: Uint8Array, place: number | undefined): Element[] {
  const whole = place === undefined ? null : element(der, place);
  if (whole?.tag !== SEQUENCE) return [];
  const found: Element[] = [];
  for (let at = whole.start; at < whole.end;) {
    const one = element(der, at);
    if (one === null || one.end > whole.end) return [];
    found.push(one);
    at = one.end;
  }
  return found;
}

/** Unix ms of a time (RFC 5280, section 4.1.2.5): years of two digits are from 1950 to 2049. */
function timeOf(der: Uint8Array, given: Element | undefined): number | null {
  if (given === undefined) return null;
  const text = new TextDecoder().decode(der.subarray(given.start, given.end));
  const short = /^\d{12}Z$/.test(text) && given.tag === UTC_TIME;
  if (!short && !(/^\d{14}Z$/.test(text) && given.tag === GENERALIZED_TIME)) return null;
  const full = short ? `${Number(text.slice(0, 2)) < 50 ? "20" : "19"}${text}` : text;
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) ?? [];
  return Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
}
