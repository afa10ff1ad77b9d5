import { Hono } from "hono";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  deprecationsMiddleware,
  type DeprecationsOptions,
  withDeprecations,
} from "../../../core/deprecations/mod.ts";
import { answerModern, answerOld, type DnsRow } from "../../fakes/deprecations-dns.ts";
import { platform, ROOT } from "../../fakes/deprecations-host.ts";

const LIST = `http://x${ROOT}/zones/z/dns_records`;

/** A host with the modern list only, in pages. */
function host(rows: readonly DnsRow[], fault: (query: string) => Response | null = () => null) {
  const asked: string[] = [];
  const state = { atOnce: 0, most: 0 };
  const answer = async (request: Request): Promise<Response> => {
    const { search, searchParams } = new URL(request.url);
    asked.push(search);
    state.most = Math.max(state.most, ++state.atOnce);
    await new Promise((resolve) => setTimeout(resolve));
    state.atOnce--;
    const failed = fault(search);
    if (failed !== null) return failed;
    const paging = ["page", "per_page", "order", "direction"];
    const page = Number(searchParams.get("page") ?? 1);
    const per = Number(searchParams.get("per_page") ?? 100);
    for (const name of paging) searchParams.delete(name);
    const found = answerModern(searchParams.toString(), rows);
    const result = found.slice((page - 1) * per, page * per);
    const big = JSON.stringify({
      result,
      success: true,
      errors: [],
      messages: [],
      result_info: { page, per_page: per, count: result.length, total_count: found.length },
    });
    return new Response(big.replaceAll('"ttl":"1"', '"ttl":12345678901234567890'), {
      headers: { "content-type": "application/json" },
    });
  };
  return { answer, asked, state };
}

const rowsOf = (count: number): DnsRow[] =>
  Array.from({ length: count }, (_, at) => ({
    id: String(at),
    name: `n${at % 3}`,
    content: String(count - at),
    type: at % 2 === 0 ? "A" : "TXT",
    ttl: "1",
  }));

interface Page {
  readonly result: readonly DnsRow[];
  readonly messages: readonly { readonly message: string }[];
  readonly result_info: Readonly<Record<string, number>>;
}

describe("a comma list beside other filters", () => {
  it("is all pages of each value, merged: each record once, in order, with the right totals", async () => {
    const rows = rowsOf(400);
    const { answer, asked, state } = host(rows);
    const fetch = withDeprecations({ platform });
    const query = "?type=A&name=n0,n1,n2&order=content&direction=desc&page=2&per_page=150";
    const response = await fetch(new Request(`${LIST}${query}`), answer);
    const text = await response.text();
    expect(text).toContain('"ttl":12345678901234567890');
    const page = JSON.parse(text) as Page;
    const wanted = answerOld("type=A&name=n0,n1,n2", rows)
      .toSorted((a, b) => (a.content < b.content ? 1 : -1))
      .slice(150);
    expect(page.result.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    expect(page.result_info).toEqual({
      page: 2,
      per_page: 150,
      count: 50,
      total_count: 200,
      total_pages: 2,
    });
    expect(page.messages[0]?.message).toContain("dns-list-filters.04");
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(state.most).toBeLessThanOrEqual(4);
    expect(response.headers.get("link")).toContain("dns-list-filters.04");
  });

  it("asks a few at once only", async () => {
    const { answer, state } = host(rowsOf(30));
    const names = Array.from({ length: 20 }, (_, at) => `n${at}`).join();
    await withDeprecations({ platform })(new Request(`${LIST}?type=A&name=${names}`), answer);
    expect(state.most).toBe(4);
  });

  it("asks for nothing more when its client has left", async () => {
    const { answer, asked } = host(rowsOf(30));
    const client = new AbortController();
    const handle = withDeprecations({ clock: "2026-06-01", platform });
    const request = new Request(`${LIST}?type=A&name=a,b,c,d,e,f,g,h`, { signal: client.signal });
    const answered = handle(request, async (one) => {
      client.abort();
      return answer(one);
    });
    await expect(answered).rejects.toThrow();
    expect(asked.length).toBeLessThanOrEqual(4);
  });

  it("fails as a whole with the first failure", async () => {
    const fault = (query: string): Response | null =>
      query.includes("name=n1") ? Response.json({ mine: 1 }, { status: 503 }) : null;
    const { answer, asked } = host(rowsOf(30), fault);
    const names = ["n1", ...Array.from({ length: 20 }, (_, at) => `x${at}`)].join();
    const fetch = withDeprecations({ platform });
    const response = await fetch(new Request(`${LIST}?type=A&name=${names}`), answer);
    expect([response.status, await response.json()]).toEqual([503, { mine: 1 }]);
    expect(asked.length).toBeLessThan(12);
  });

  it.each<[name: string, fault: (query: string) => Response, asks?: number]>([
    ["no list", () => Response.json({ result: { a: 1 } })],
    ["no JSON", () => new Response("<html>")],
    ["records without id", () => Response.json({ result: [{ name: "n0" }] })],
    [
      "pages without end",
      (query) => Response.json({ result: [{ id: `${query} ${Math.random()}` }] }),
      200,
    ],
    [
      "too many records",
      (query) =>
        Response.json({
          result: Array.from({ length: 3000 }, (_, at) => ({ id: `${query} ${at}` })),
        }),
      5,
    ],
  ])("is refused where the host answers with %s", async (_, fault, asks = 2) => {
    const fetch = withDeprecations({ platform });
    const { answer, asked } = host([], fault);
    const response = await fetch(new Request(`${LIST}?type=A&name=a,b`), answer);
    expect(asked.length).toBeLessThanOrEqual(asks);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("one request per value");
  });

  it("is fanned out in Hono with the app's own fetch, and refused without it", async () => {
    const at = (options: Partial<DeprecationsOptions>): Hono => {
      const app = new Hono();
      const { answer } = host(rowsOf(12));
      const mine = { platform, ...options };
      app.use("*", deprecationsMiddleware(mine));
      app.get(`${ROOT}/zones/:z/dns_records`, (c) => answer(c.req.raw));
      return app;
    };
    expect((await at({}).request(`${LIST}?type=A&name=n0,n1`)).status).toBe(400);
    const app: Hono = at({ fetch: (request) => app.fetch(request) });
    const response = await app.request(`${LIST}?type=A&name=n0,n1`);
    expect(((await response.json()) as Page).result_info["total_count"]).toBe(4);
  });

  it("finds what the old list meant", async () => {
    const word = fc.constantFrom("a", "b", "c");
    const list = fc.array(word, { minLength: 1, maxLength: 3 }).map((all) => all.join(","));
    const record = fc.record({ name: word, content: word, type: fc.constantFrom("A", "TXT") });
    const query = fc.tuple(list, list).map(([n, c]) => `type=A&name=${n}&content=${c}`);
    await fc.assert(
      fc.asyncProperty(query, fc.array(record, { maxLength: 12 }), async (asked, all) => {
        const rows = all.map((row, index) => ({ ...row, id: String(index) }));
        const fetch = withDeprecations({ platform });
        const response = await fetch(new Request(`${LIST}?${asked}`), host(rows).answer);
        const { result, result_info: info } = (await response.json()) as Page;
        const wanted = answerOld(asked, rows).map(({ id }) => id);
        expect(result.map(({ id }) => id).toSorted()).toEqual(wanted.toSorted());
        expect(info["total_count"] ?? wanted.length).toBe(wanted.length);
      }),
      { numRuns: 30 },
    );
  });
});
