import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FilterPlan,
  mergeFanOut,
  planFilters,
  usedFilters,
} from "../../../core/deprecations/translate/dns-filters.ts";
import { answerModern, answerOld, type DnsRow } from "../../fakes/deprecations-dns.ts";

const rewritten = (query: string): string => {
  const plan = planFilters(query);
  if (plan.kind === "unchanged") return query;
  return plan.kind === "rewrite" ? plan.query : `(${plan.kind})`;
};

describe("planFilters()", () => {
  it("rewrites every announced prefix form", () => {
    expect(rewritten("name=contains:www")).toBe("name.contains=www");
    expect(rewritten("name=starts_with:www")).toBe("name.startswith=www");
    expect(rewritten("name=ends_with:www")).toBe("name.endswith=www");
    expect(rewritten("content=contains:www")).toBe("content.contains=www");
    expect(rewritten("content=starts_with:www")).toBe("content.startswith=www");
    expect(rewritten("content=ends_with:www")).toBe("content.endswith=www");
  });

  it("splits at the first colon only, in any encoding, and keeps the value's bytes", () => {
    expect(rewritten("content=contains:2001:db8::1")).toBe("content.contains=2001:db8::1");
    expect(rewritten("content=contains%3A2001%3Adb8%3a%3A")).toBe(
      "content.contains=2001%3Adb8%3a%3A",
    );
    expect(rewritten("name=contains%3aa%2Cb")).toBe("name.contains=a%2Cb");
  });

  it("keeps a comma behind a prefix: the table has no combined form", () => {
    expect(rewritten("name=contains:a,b")).toBe("name.contains=a,b");
  });

  it("turns an only list into match=any, also with commas as SDK 3.0.0 sends them", () => {
    expect(rewritten("name=a,b,c")).toBe("match=any&name=a&name=b&name=c");
    expect(rewritten("page=2&name=a%2Cb&per_page=5")).toBe(
      "page=2&match=any&name=a&name=b&per_page=5",
    );
    expect(rewritten("match=all&name=a,b")).toBe("match=any&name=a&name=b");
    expect(rewritten("name=a,,b,")).toBe("match=any&name=a&name=b");
    expect(rewritten("name=a,")).toBe("name=a");
    expect(rewritten("match=any&type=A&name=a,b")).toBe("match=any&type=A&name=a&name=b");
  });

  it("fans a list beside other filters out, and a cross product of two lists", () => {
    expect(planFilters("type=A&name=a,b&page=2&per_page=10&order=name&direction=desc")).toEqual({
      kind: "fan-out",
      queries: [
        "type=A&name=a&order=name&direction=desc",
        "type=A&name=b&order=name&direction=desc",
      ],
      view: { page: 2, perPage: 10, order: "name", direction: "desc" },
    });
    const cross = planFilters("name=a,b&content=1,2") as FilterPlan & { queries: string[] };
    expect(cross.queries).toEqual([
      "name=a&content=1",
      "name=a&content=2",
      "name=b&content=1",
      "name=b&content=2",
    ]);
  });

  it("passes contents with real commas on unchanged", () => {
    for (const query of [
      'content="a,b"',
      "content=v=spf1,x",
      "content=a,b c",
      "content=a%2Cb+c",
      "content=a%2C%22b",
    ]) {
      expect(rewritten(query)).toBe(query);
      expect(usedFilters(query)).toEqual([]);
    }
  });

  it("refuses what has no modern form, and says what to send", () => {
    expect(planFilters("type=contains:A")).toMatchObject({ kind: "refuse", entry: "09" });
    expect(planFilters("name=contains:")).toMatchObject({ kind: "refuse", entry: "01" });
    expect(planFilters("name=,")).toMatchObject({ kind: "refuse", entry: "04" });
    const many = Array.from({ length: 51 }, (_, i) => `n${i}`).join();
    expect(planFilters(`name=${many}`)).toMatchObject({
      kind: "refuse",
      instead: expect.stringContaining("one request per value") as string,
    });
    const eight = "a,b,c,d,e,f,g,h";
    expect(planFilters(`name=${eight}&content=${eight}`).kind).toBe("refuse");
    expect(planFilters(`match=any&name=${eight}&content=${eight}`).kind).toBe("rewrite");
  });

  it("rewrites only what is past its own date", () => {
    const prefixesOnly = (entry: string): boolean => entry !== "04" && entry !== "08";
    expect(planFilters("name=contains:a&content=1,2", prefixesOnly)).toEqual({
      kind: "rewrite",
      query: "name.contains=a&content=1,2",
    });
  });

  it("takes brackets for dots", () => {
    expect(rewritten("name[contains]=a")).toBe("name.contains=a");
    expect(rewritten("content%5Bstartswith%5D=a%20b")).toBe("content.startswith=a%20b");
    expect(rewritten("name[starts_with]=a&content.ends_with=b")).toBe(
      "name.startswith=a&content.endswith=b",
    );
  });

  it("takes every operator of a comment and a tag, and lists in brackets", () => {
    expect(rewritten("comment[contains]=a&tag[exact]=b:c")).toBe(
      "comment.contains=a&tag.exact=b:c",
    );
    expect(rewritten("comment[present]=true&tag.absent=true")).toBe(
      "comment.present=true&tag.absent=true",
    );
    expect(rewritten("name[]=a")).toBe("name=a");
    expect(rewritten("name[]=a&page=2&name[]=b")).toBe("match=any&name=a&name=b&page=2");
    expect(usedFilters("name%5B0%5D=a&name%5B1%5D=b")).toEqual(["04"]);
  });

  it("takes a query of very many parameters in one go, which a stranger may send", () => {
    const listed = planFilters("name[]=a&".repeat(60_000));
    expect(listed).toMatchObject({ kind: "refuse", entry: "04" });
    const types = Array.from({ length: 50 }, (_, n) => `T${n}`).join(",");
    const blanks = "&".repeat(30_000);
    const fanned = planFilters(`type=${types}${blanks}&name=x`) as FilterPlan & {
      queries: string[];
    };
    expect(fanned.queries).toHaveLength(50);
    expect(fanned.queries[49]).toBe(`type=T49${blanks}&name=x`);
  });

  it("asks for each type of a list alone, because a server takes one", () => {
    for (const [query, rest] of [
      ["type=A,AAAA", ""],
      ["type[]=A&type[]=AAAA&match=any&name=x", "&match=any&name=x"],
    ])
      expect(planFilters(query!)).toMatchObject({
        kind: "fan-out",
        queries: [`type=A${rest}`, `type=AAAA${rest}`],
      });
  });

  it.each(["comment[like]=a", "tag[]=a", "type[contains]=A", "type.not=A"])(
    "refuses %s, too",
    (query) => {
      expect(planFilters(query).kind).toBe("refuse");
    },
  );

  it.each(["name[contain]=a", "name%5Bother%5D=a", "name.like=a", "name[a][b]=c"])(
    "refuses %s, which a server would pass over to show the whole zone",
    (query) => {
      expect(planFilters(query)).toMatchObject({
        kind: "refuse",
        entry: "01",
        instead: expect.stringContaining("name.contains") as string,
      });
      expect(planFilters(query, () => false)).toEqual({ kind: "unchanged" });
    },
  );

  it("keeps everything else byte for byte", () => {
    const rest = "tag=a%3Ab&&comment=x+y&%zz=1&search=contains:x&type=A&proxied";
    expect(rewritten(rest)).toBe(rest);
    expect(rewritten(`${rest}&name=contains:q`)).toBe(`${rest}&name.contains=q`);
  });

  it("changes nothing the second time", () => {
    fc.assert(
      fc.property(anyQuery, (query) => {
        const once = rewritten(query);
        if (!once.startsWith("(")) expect(rewritten(once)).toBe(once);
      }),
    );
  });
});

const word = fc.constantFrom("a", "b", "c", "ab", "bc");
const list = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(","));
const value = fc.oneof(
  word,
  list,
  fc
    .tuple(fc.constantFrom("contains", "starts_with", "ends_with"), word)
    .map(([prefix, text]) => `${prefix}:${text}`),
);
const parameter = fc.oneof(
  fc
    .tuple(fc.constantFrom("name", "content"), value)
    .map(([name, text]) => `${name}=${encodeURIComponent(text)}`),
  fc.constantFrom("A", "TXT", "A,TXT", "TXT,AAAA").map((type) => `type=${type}`),
);
const anyQuery = fc
  .uniqueArray(parameter, { maxLength: 3, selector: (one) => one.split("=")[0] })
  .map((all) => all.join("&"));
const rows = fc.array(fc.record({ name: word, content: word, type: fc.constantFrom("A", "TXT") }), {
  maxLength: 12,
});

describe("a planned query", () => {
  it("finds exactly the records that the old one meant, each once", () => {
    fc.assert(
      fc.property(anyQuery, rows, (query, all) => {
        const zone: DnsRow[] = all.map((row, index) => ({ ...row, id: String(index) }));
        const expected = answerOld(query, zone).map(({ id }) => id);
        const plan = planFilters(query);
        if (plan.kind === "fan-out") {
          const merged = mergeFanOut(
            plan.queries.map((one) => answerModern(one, zone)),
            { ...plan.view, perPage: 1000 },
          );
          expect(merged.result.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
          expect(merged.result_info.total_count).toBe(expected.length);
        } else if (plan.kind !== "refuse") {
          const modern = plan.kind === "rewrite" ? plan.query : query;
          expect(answerModern(modern, zone).map(({ id }) => id)).toEqual(expected);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("mergeFanOut()", () => {
  const view = { page: 1, perPage: 2, order: "name", direction: "asc" } as const;

  it("shows every record once, sorted, with the right totals on each page", () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => ({ id: name, name }));
    const lists = [
      [c!, a!],
      [b!, a!],
    ];
    expect(mergeFanOut(lists, view)).toEqual({
      result: [a, b],
      result_info: { page: 1, per_page: 2, count: 2, total_count: 3, total_pages: 2 },
    });
    expect(mergeFanOut(lists, { ...view, page: 2 }).result).toEqual([c]);
    expect(mergeFanOut(lists, { ...view, page: 3 }).result).toEqual([]);
    expect(mergeFanOut(lists, { ...view, direction: "desc" }).result).toEqual([c, b]);
  });

  it("sorts numbers as numbers", () => {
    const records = [10, 9, 100].map((ttl) => ({ id: String(ttl), ttl }));
    const all = mergeFanOut([records], { ...view, order: "ttl", perPage: 10 });
    expect(all.result.map(({ id }) => id)).toEqual(["9", "10", "100"]);
  });
});
