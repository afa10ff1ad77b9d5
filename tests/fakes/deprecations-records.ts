import { answerModern, type DnsRow } from "./deprecations-dns.ts";

/** A host that knows today's parameters only, but still sends old fields; every call is noted. */
export interface RecordsApi {
  readonly answer: (request: Request) => Promise<Response>;
  /** The JSON of all bodies that came, `{}` for none. */
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
}

/** The records of its one zone. */
export const dnsRows: readonly DnsRow[] = Array.from({ length: 6 }, (_, at) => ({
  id: String(at),
  name: `n${at % 3}.example.com`,
  content: String(at),
  type: at % 2 === 0 ? "A" : "TXT",
}));

const OLD = { zone_id: "z", zone_name: "example.com", locked: false };
const SRV = { id: "srv", name: "_a._b.c", type: "SRV", data: { port: 1, service: "_a" } };
const APP = { id: "app", destinations: [{ type: "public", uri: "a.example.com" }] };
const PAGING = ["page", "per_page", "order", "direction"];

/** Makes it; a record called `broken` is refused, as the API of today does it for one and of old for the other half. */
export function recordsApi(): RecordsApi {
  const bodies: Record<string, unknown>[] = [];
  return {
    bodies,
    async answer(request) {
      const { pathname, searchParams } = new URL(request.url);
      const text = await request.text();
      const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
      bodies.push(body);
      if (body["name"] === "broken") return broken();
      for (const name of PAGING) searchParams.delete(name);
      const result = resultOf(request.method, pathname, { body, searchParams });
      const isList = Array.isArray(result);
      return Response.json({
        result,
        success: true,
        errors: [],
        messages: [],
        ...(isList ? { result_info: { page: 1, total_count: result.length } } : {}),
      });
    },
  };
}

function broken(): Response {
  const chain = [{ code: 9005, message: "Content for A record must be a valid IPv4 address" }];
  const errors = [{ code: 1004, message: "DNS Validation Error", error_chain: chain }];
  return Response.json({ result: null, success: false, errors, messages: [] }, { status: 400 });
}

function resultOf(
  method: string,
  pathname: string,
  { body, searchParams }: { readonly body: object; readonly searchParams: URLSearchParams },
): unknown {
  if (pathname.endsWith("/access/apps"))
    return method === "GET" ? [{ ...APP, ...oldApp }] : { ...APP, ...oldApp, ...body };
  if (pathname.includes("/access/apps/")) return { ...APP, ...oldApp, ...body };
  if (pathname.endsWith("/dns_records") && method === "GET")
    return answerModern(searchParams.toString(), dnsRows).map((row) => ({ ...row, ...OLD }));
  if (pathname.includes("/dns_records/") && method === "GET") return { ...SRV, ...OLD };
  if (pathname.includes("/dns_records")) return { id: "1", ...body, ...OLD };
  if (pathname.endsWith("/accounts") && method === "GET") return [{ id: "a" }];
  return { id: "a", ...body, query: searchParams.toString() };
}

const oldApp = { self_hosted_domains: ["a.example.com"] };
