/**
 * Headers that belong to one connection and never cross a proxy: RFC 9110 section 7.6.1, and the older names
 * that peers still send.
 */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
