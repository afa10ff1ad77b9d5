/**
 * Returns the origin of an address: scheme, host and port. A secret that is sent with requests belongs to the origin that it
 * was given for: otherwise a caller who may change an address could have it sent elsewhere. Null for no address.
 */
export function secretOrigin(url: string): string | null {
  return URL.parse(url)?.origin ?? null;
}
