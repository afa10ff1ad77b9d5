/** Longest header value that is looked at: API tokens are short, JWTs rarely exceed 4 KiB. */
const TOKEN_LIMIT = 8192;

/** The token of an `Authorization: Bearer` header value (scheme in any case); null without a token. */
export function bearerToken(header: string | null): string | null {
  if (header === null || header.length > TOKEN_LIMIT) return null;
  const match = /^bearer +([!-~]+) *$/i.exec(header);
  return match?.[1] ?? null;
}
