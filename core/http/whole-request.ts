import type { HonoRequest } from "hono";

/**
 * The request with its whole body, also where a middleware of the host app has read that by `c.req.text()`,
 * `c.req.json()` or the like, which keep what they read.
 */
export function wholeRequest(request: HonoRequest): Promise<Request> | Request {
  const { bodyCache, raw } = request;
  for (const _ in bodyCache)
    return raw.method === "GET" || raw.method === "HEAD" ? raw : rebuilt(request);
  return raw;
}

async function rebuilt(request: HonoRequest): Promise<Request> {
  const { url, method, signal, headers } = request.raw;
  if (request.bodyCache.formData === undefined) {
    return new Request(url, { method, headers, body: await request.arrayBuffer(), signal });
  }
  // The fields of a form are kept, its bytes are not: it is written with a boundary of its own.
  const others = new Headers(headers);
  others.delete("content-type");
  others.delete("content-length");
  return new Request(url, { method, headers: others, body: await request.formData(), signal });
}
