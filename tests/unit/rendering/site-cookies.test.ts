import { describe, expect, it } from "vitest";
import { bytes, fakeTransport } from "../../fakes/gateway-transport.ts";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { fetchDocument } from "../../../core/rendering/static/fetch-document.ts";
import { siteCookies } from "../../../core/rendering/static/site-cookies.ts";

const at = (path: string): URL => new URL(path, "https://www.example.com/");
const DATE = ["date", "Fri, 27 Nov 2026 10:00:00 GMT"] as const;

describe("siteCookies()", () => {
  it.each([
    ["the host alone", "a=1", "https://www.example.com/x", "a=1"],
    ["not the host above", "a=1", "https://example.com/", ""],
    ["not another host", "a=1", "https://other.example/", ""],
    ["a domain, with all hosts below", "a=1; Domain=.Example.com", "https://b.example.com/", "a=1"],
    ["no domain of others", "a=1; domain=other.example", "https://other.example/", ""],
    ["no domain that is a part of the name", "a=1; domain=ample.com", "https://ample.com/", ""],
    ["no domain for all", "a=1; domain=com", "https://other.com/", ""],
    ["a path", "a=1; Path=/in", "https://www.example.com/in/side", "a=1"],
    ["not beside the path", "a=1; path=/in", "https://www.example.com/inside", ""],
    ["the folder of the page without a path", "a=1", "https://www.example.com/y", "a=1"],
    ["https alone where it is secure", "a=1; Secure", "http://www.example.com/", ""],
    ["nothing once it is over", "a=1; max-age=0", "https://www.example.com/", ""],
    [
      "nothing before now",
      "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
      "https://www.example.com/",
      "",
    ],
    ["until then", "a=1; expires=Thu, 01 Jan 2099 00:00:00 GMT", "https://www.example.com/", "a=1"],
    ["nothing without a name", "=1", "https://www.example.com/", ""],
    ["nothing that is no header", "a=1\u0001", "https://www.example.com/", ""],
  ])("keeps a cookie for %s", (_, cookie, url, sent) => {
    const cookies = siteCookies();
    cookies.note(at("/"), [DATE, ["Set-Cookie", cookie]]);
    expect(cookies.headerFor(new URL(url), [])).toBe(sent);
  });

  it("replaces a cookie, deletes it, and puts the caller's first", () => {
    const cookies = siteCookies();
    cookies.note(at("/"), [DATE, ["set-cookie", "a=1"], ["set-cookie", "b=1"]]);
    cookies.note(at("/"), [["set-cookie", "a=2"]]);
    const own = [
      { name: "o", value: "1" },
      { name: "a", value: "own" },
      { name: "n", value: "1", domain: "other.example" },
    ];
    expect(cookies.headerFor(at("/x"), own)).toBe("o=1; b=1; a=2");
    cookies.note(at("/"), [["set-cookie", "a=; max-age=-1"]]);
    expect(cookies.headerFor(at("/x"), [])).toBe("b=1");
  });

  it("keeps a bounded number of cookies of a bounded size", () => {
    const cookies = siteCookies();
    const long = ["set-cookie", `long=${"x".repeat(4096)}`] as const;
    const many = Array.from({ length: 60 }, (_, n) => ["set-cookie", `c${n}=1`] as const);
    cookies.note(at("/"), [long, ...many]);
    expect(cookies.headerFor(at("/"), []).split("; ")).toHaveLength(50);
    expect(cookies.headerFor(at("/"), [])).not.toContain("long");
  });
});

it("the caller's cookies go to the origin of url alone, also to a host of their domain", async () => {
  const url = "https://example.com/";
  const cookies = [{ name: "a", value: "1", domain: "example.com" }];
  const job = jobWith(
    patternCompiler,
    { url, cookies },
    { allow: allowNone, caps: {}, unsafeRegex: false },
  );
  const sent: (string | undefined)[] = [];
  const transport = fakeTransport(({ headers }, index) => {
    sent.push(headers.find(([name]) => name === "cookie")?.[1]);
    const location = ["/in", "https://www.example.com/"][index];
    return location === undefined
      ? { status: 200, headers: [["content-type", "text/html"]], body: bytes("<p>") }
      : { status: 302, headers: [["location", location]], body: null };
  });
  const { signal } = new AbortController();
  const options = { allow: allowNone, signal, takesPdf: true, follow: undefined };
  await fetchDocument(transport, { ...job, url: new URL(url) }, options);
  expect(sent).toEqual(["a=1", "a=1", undefined]);
});
