import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import type { Authenticate } from "../../../core/auth/authorize.ts";
import { type DeprecationsOptions, withDeprecations } from "../../../core/deprecations/mod.ts";
import { host, ROOT } from "../../fakes/deprecations-host.ts";

const DNS = `http://x${ROOT}/zones/z%2F1/dns_records`;
const APPS = `http://x${ROOT}/accounts/a/access/apps`;
const record = { id: "1", name: "www.example.com", type: "A", n: 1 };
const app = {
  id: "2",
  destinations: [
    { type: "public", uri: "a.example.com" },
    { type: "private", cidr: "10.0.0.0/8" },
    { uri: "b.example.com" },
  ],
};
const cause = { code: 9005, message: "Content for A record must be a valid IPv4 address" };
const zones: Readonly<Record<string, string>> = { "z%2F1": "example.com" };

/** A host with the modern shapes only; it answers a zone to its owner alone. */
async function modern(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, , , kind, id = "", resource] = pathname.split("/");
  if (kind === "accounts") return Response.json({ success: true, result: [app] });
  if (resource === undefined) {
    const isOwner = request.headers.get("authorization") === "Bearer owner";
    return isOwner
      ? Response.json({ success: true, result: { id, name: zones[id] } })
      : Response.json({ success: false, result: null, errors: [] }, { status: 403 });
  }
  if (request.method === "POST")
    return Response.json({ success: false, result: null, errors: [cause] }, { status: 400 });
  return Response.json({ success: true, result: [record], result_info: { count: 1 } });
}

const answer = (
  url: string,
  headers: Record<string, string>,
  options: DeprecationsOptions = {},
  method = "GET",
): Promise<Response> =>
  withDeprecations({ clock: "2026-01-01", ...options })(
    new Request(url, { headers, method }),
    modern,
  );
const owner = { authorization: "Bearer owner" };
const pinned = { ...owner, "api-compat-date": "2024-06-01" };

const json = async (response: Promise<Response>): Promise<unknown> => (await response).json();

describe("a client that is pinned to a day", () => {
  it("gets zone_id, zone_name and locked back in each record, and nothing else", async () => {
    const response = await answer(DNS, pinned);
    expect(await response.json()).toEqual({
      success: true,
      result: [{ ...record, zone_id: "z/1", zone_name: "example.com", locked: false }],
      result_info: { count: 1 },
    });
    expect(response.headers.get("api-compat-date")).toBe("2024-06-01");
    expect(response.headers.get("vary")).toContain("Api-Compat-Date");
    expect(response.headers.get("link")).toMatch(
      /dns-record-zone-fields\.01.*dns-record-locked\.01/,
    );
  });

  it("gets the modern shape without it", async () => {
    for (const url of [DNS, APPS])
      expect(await json(answer(url, owner))).toEqual(await json(modern(new Request(url))));
    expect(await json(answer(DNS, owner, {}, "POST"))).toMatchObject({ errors: [cause] });
  });

  it("gets what left after its day only, to the day", async () => {
    const of = async (day: string): Promise<unknown> =>
      Object.keys(
        ((await json(answer(DNS, { ...owner, "api-compat-date": day }))) as { result: object[] })
          .result[0]!,
      ).slice(4);
    expect(await of("2024-07-13")).toEqual(["zone_id", "zone_name", "locked"]);
    expect(await of("2024-07-14")).toEqual(["zone_id", "zone_name"]);
    expect(await of("2024-11-30")).toEqual(["zone_id", "zone_name"]);
    expect(await of("2024-12-01")).toEqual([]);
  });

  it("gets self_hosted_domains back, of the public destinations", async () => {
    expect(await json(answer(APPS, { "api-compat-date": "2025-11-20" }))).toEqual({
      success: true,
      result: [{ ...app, self_hosted_domains: ["a.example.com", "b.example.com"] }],
    });
    expect(await json(answer(APPS, { "api-compat-date": "2025-11-21" }))).toEqual({
      success: true,
      result: [app],
    });
  });

  it("gets error_chain back where the creation of a record fails", async () => {
    expect(await json(answer(DNS, pinned, {}, "POST"))).toEqual({
      success: false,
      result: null,
      errors: [{ code: 1004, message: "DNS Validation Error", error_chain: [cause] }],
    });
    const later = { "api-compat-date": "2024-10-02" };
    expect(await json(answer(DNS, later, {}, "POST"))).toMatchObject({ errors: [cause] });
  });

  it("is told no zone's name that it may not read", async () => {
    const other = { ...pinned, authorization: "Bearer other" };
    expect(await json(answer(DNS, other))).toMatchObject({
      result: [{ ...record, zone_id: "z/1", locked: false }],
    });
    expect(await (await answer(DNS, other)).text()).not.toContain('example.com","locked');
  });

  it("is so by its token, unless a header says another day", async () => {
    const auth: Authenticate = async ({ headers }) =>
      headers.get("authorization") === "Bearer owner"
        ? { id: "t1", kind: "token", grants: [] }
        : null;
    const options = { auth, pins: { t1: "2024-06-01", t2: "2024-06-01" } };
    expect(await (await answer(DNS, owner, options)).text()).toContain('"locked":false');
    const none = await answer(DNS, { authorization: "Bearer t2" }, options);
    expect(await none.text()).not.toContain("locked");
    const header = { ...owner, "api-compat-date": "2025-06-01" };
    expect(await (await answer(DNS, header, options)).text()).not.toContain("locked");
    const pins = ({ headers }: Request): string | null => headers.get("x-pin");
    const mine = await answer(DNS, { ...owner, "x-pin": "2024-06-01" }, { pins });
    expect(await mine.text()).toContain('"locked":false');
    expect(await (await answer(DNS, owner, { pins })).text()).not.toContain("locked");
  });

  it("is refused a day that is none, on the routes where it counts", async () => {
    for (const day of ["2024-02-30", "yesterday", "", "2024-01-01T00:00:00Z"]) {
      const response = await answer(DNS, { ...owner, "api-compat-date": day });
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining("expected a day such as"),
      ]);
    }
    const elsewhere = await answer(`http://x${ROOT}/accounts/a/other`, { "api-compat-date": "no" });
    expect(elsewhere.status).toBe(200);
    expect(() => withDeprecations({ pins: { t: "2024" } })).toThrow('pins of "t": expected a day');
    expect(() => withDeprecations({ pins: { t: "2024-01-01" } })).toThrow(
      "pins by token need auth",
    );
  });

  it("gets what a Hono app has, without the zone's name unless the app can be asked", async () => {
    const mount = (api: Hono): unknown =>
      api
        .get("/zones/:id", (c) => c.json({ result: { name: "example.com" } }))
        .get("/zones/:id/dns_records/:record", (c) =>
          c.json({ result: record, encoding: c.req.header("accept-encoding") ?? null }),
        );
    const headers = { ...pinned, "accept-encoding": "gzip" };
    const clock = "2026-01-01";
    const plain = host({ clock }, mount);
    expect(await (await plain.request(`${DNS}/1`, { headers })).json()).toEqual({
      result: { ...record, zone_id: "z/1", locked: false },
      encoding: null,
    });
    const asked: Hono = host({ clock, fetch: (request) => asked.fetch(request) }, mount);
    expect(await (await asked.request(`${DNS}/1`, { headers })).json()).toMatchObject({
      result: { zone_name: "example.com" },
    });
  });

  it("is told of a failure that breaks off", async () => {
    const body = new ReadableStream({ pull: () => Promise.reject(new Error("gone")) });
    const headers = { "content-type": "application/json" };
    const got = await withDeprecations({ clock: "2026-01-01" })(
      new Request(DNS, { method: "POST", headers: pinned }),
      async () => new Response(body, { status: 400, headers }),
    );
    expect([got.status, await got.text()]).toEqual([
      503,
      expect.stringContaining("The answer broke off on its way"),
    ]);
  });

  it("has the day of its own token, whoever else is pinned", async () => {
    const days: Readonly<Record<string, string>> = { a: "2024-06-01", b: "2024-08-01" };
    const auth: Authenticate = async ({ headers }) => {
      const id = headers.get("authorization")?.slice("Bearer ".length) ?? "";
      return id in days || id === "c" ? { id, kind: "token", grants: [] } : null;
    };
    const fetch = withDeprecations({ clock: "2026-01-01", auth, pins: days });
    const of = async (id: string): Promise<string[]> => {
      const request = new Request(DNS, { headers: { authorization: `Bearer ${id}` } });
      const { result } = (await (await fetch(request, modern)).json()) as { result: object[] };
      return Object.keys(result[0]!).slice(4);
    };
    const all = await Promise.all(["a", "b", "c", "a", "toString"].map(of));
    const [old, later] = [["zone_id", "locked"], ["zone_id"]];
    expect(all).toEqual([old, later, [], old, []]);
  });

  it("has a stream's records as they come", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const response = await withDeprecations({ clock: "2026-01-01" })(
      new Request(APPS, { headers: { "api-compat-date": "2025-01-01" } }),
      async () => new Response(readable, { headers: { "content-type": "application/json" } }),
    );
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    void writer.write(new TextEncoder().encode('{"result":[{"n":12345678901234567890}'));
    expect((await reader.read()).value).toBe(
      '{"result":[{"n":12345678901234567890,"self_hosted_domains":[]}',
    );
    void writer.write(new TextEncoder().encode("]}"));
    void writer.close();
    expect((await reader.read()).value).toBe("]}");
  });
});
