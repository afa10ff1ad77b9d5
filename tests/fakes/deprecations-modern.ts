/** The routes of today that replace old ones, with the state of one zone; every call is noted. */
export interface ModernApi {
  readonly answer: (request: Request) => Promise<Response>;
  /** `METHOD /path?query`, below the API root. */
  readonly calls: string[];
  /** The bodies of the calls. */
  readonly bodies: string[];
  readonly settings: Record<string, unknown>;
}

/** The shares of a dimension, as the API of today writes them. */
export const SHARES: Readonly<Record<string, string>> = {
  gaming: "10.5",
  retail: "60.25",
  other: "5",
  finance: "9",
  media: "15.25",
};

/** Makes it; anything else below the API root is a 404. */
export function modernApi(root: string = "/client/v4"): ModernApi {
  const calls: string[] = [];
  const bodies: string[] = [];
  const settings: Record<string, unknown> = {
    flatten_all_cnames: false,
    multi_provider: false,
    secondary_overrides: false,
    ns_ttl: 86_400,
  };
  const result = async (request: Request, path: string, body: string): Promise<unknown> => {
    const key = `${request.method} ${path}`;
    if (/^GET \/accounts\/[^/]+(?:\/(?:members|roles)(?:\/[^/]+)?|\/audit_logs)?$/.test(key))
      return { path };
    if (/^DELETE \/accounts\/[^/]+\/members\/[^/]+$/.test(key))
      return { id: path.split("/").at(-1) };
    if (/^POST \/accounts\/[^/]+\/images\/v2\/direct_upload$/.test(key))
      return { id: "image", uploadURL: "https://upload.example.com/image" };
    if (/^POST \/accounts\/[^/]+\/devices\/registrations\/(?:un)?revoke$/.test(key)) return null;
    if (/^[A-Z]+ \/zones\/[^/]+\/page_shield(?:\/.*)?$/.test(key)) return { path, body };
    if (/^(?:GET|PATCH) \/zones\/[^/]+\/dns_settings$/.test(key)) {
      if (request.method === "PATCH") Object.assign(settings, JSON.parse(body));
      return { ...settings };
    }
    if (
      /^GET \/radar\/(?:attacks\/layer[37]\/summary\/(?:industry|vertical)|bots\/summary\/category)$/.test(
        key,
      )
    )
      return { meta: { lastUpdated: "2026-01-01T00:00:00Z" }, summary_0: SHARES };
    return undefined;
  };
  return {
    calls,
    bodies,
    settings,
    async answer(request) {
      const { pathname, search } = new URL(request.url);
      const path = pathname.slice(root.length);
      const body = await request.text();
      calls.push(`${request.method} ${path}${search}`);
      bodies.push(body);
      const found = await result(request, path, body);
      const isThere = found !== undefined;
      return Response.json(
        {
          result: found ?? null,
          success: isThere,
          errors: isThere ? [] : [{ code: 7003, message: "No route" }],
          messages: [],
        },
        { status: isThere ? 200 : 404 },
      );
    },
  };
}
