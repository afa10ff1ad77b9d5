/** Bytes of one coordinate of P-256. */
const SIZE = 32;

/**
 * The r‖s form of a P-256 signature that came as DER (RFC 3279 section 2.2.3), which WebCrypto does not
 * take; null when it is not well-formed. DER integers drop leading zero bytes, or gain one as their sign.
 */
export function derToRaw(der: Uint8Array): Uint8Array<ArrayBuffer> | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return null;
  const r = integer(der, 2);
  const s = r === null ? null : integer(der, r.end);
  if (r === null || s === null || s.end !== der.length) return null;
  const raw = new Uint8Array(2 * SIZE);
  raw.set(r.bytes, SIZE - r.bytes.length);
  raw.set(s.bytes, 2 * SIZE - s.bytes.length);
  return raw;
}

/** The DER form of a P-256 signature that WebCrypto made as r‖s; see {@link derToRaw}. */
export function rawToDer(raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const body = [...derInteger(raw.subarray(0, SIZE)), ...derInteger(raw.subarray(SIZE))];
  return Uint8Array.from([0x30, body.length, ...body]);
}

function derInteger(bytes: Uint8Array): number[] {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? [0] : [...bytes.subarray(first)];
  // The highest bit would say that the number is negative.
  const signed = (digits[0] ?? 0) > 0x7f ? [0, ...digits] : digits;
  return [0x02, signed.length, ...signed];
}

function integer(der: Uint8Array, at: number): { bytes: Uint8Array; end: number } | null {
  const length = der[at + 1];
  if (der[at] !== 0x02 || length === undefined || length === 0 || length > SIZE + 1) return null;
  const end = at + 2 + length;
  if (end > der.length) return null;
  const bytes = der.subarray(der[at + 2] === 0 ? at + 3 : at + 2, end);
  return bytes.length > SIZE ? null : { bytes, end };
}
