import { describe, expect, it } from "vitest";
import { contentDecoding } from "../../../../core/http/body/content-decoder.ts";
import { gatewayHeader, parseControls, named } from "../../../../core/gateway/call/controls.ts";
import {
  hasAmbiguousFraming,
  replyHygiene,
  requestHygiene,
  toHeadersInit,
} from "../../../../core/gateway/wire/header-hygiene.ts";
import { presentedToken } from "../../../../core/gateway/call/gateway-token.ts";
import type { HeaderPair } from "../../../../core/ports.ts";

const decoding = contentDecoding({});

describe("requestHygiene()", () => {
  it("keeps the caller's headers and drops those of the connection and of the gateway", () => {
    const kept: HeaderPair[] = [
      ["accept", "application/json"],
      ["authorization", "Bearer sk"],
      ["openai-beta", "x"],
    ];
    const dropped: HeaderPair[] = [
      ["cf-aig-authorization", "Bearer t"],
      ["gw-aig-metadata", "{}"],
      ["cf-aig-anything", "x"],
      ["cf-skip-cache", "true"],
      ["connection", "keep-alive, X-Mine"],
      ["x-mine", "1"],
      ["keep-alive", "timeout=5"],
      ["te", "trailers"],
      ["expect", "100-continue"],
      ["transfer-encoding", "chunked"],
      ["upgrade", "h2c"],
      ["proxy-authorization", "Basic x"],
      ["x-forwarded-for", "1.2.3.4"],
      ["x-forwarded-proto", "https"],
      ["forwarded", "for=1"],
      ["host", "gateway.test"],
      ["content-length", "12"],
    ];
    expect(requestHygiene([...dropped, ...kept], decoding)).toEqual(kept);
  });

  it("asks only for encodings that the observer can undo", () => {
    const asked = (accepted: string, by = decoding): unknown =>
      requestHygiene([["accept-encoding", accepted]], by)[0]?.[1];
    expect(asked("gzip;q=0.8, Deflate , x-odd;q=0.9, compress, *")).toBe("gzip;q=0.8, Deflate");
    expect(asked("compress")).toBeUndefined();
    const known = contentDecoding({ decoder: () => new DecompressionStream("gzip") });
    expect(asked("zstd;q=1, br, identity;q=0, odd", known)).toBe("zstd;q=1, br, identity;q=0");
    // One entry of the cache for both.
    expect(asked("zstd, gzip, br", known)).toBe(asked("br, zstd,gzip", known));
  });
});

describe("replyHygiene()", () => {
  it("drops hop-by-hop and Connection-listed headers and keeps two Set-Cookie lines apart", () => {
    const reply: HeaderPair[] = [
      ["connection", "X-Hop, close"],
      ["x-hop", "1"],
      ["keep-alive", "timeout=5"],
      ["proxy-authenticate", "Basic"],
      ["transfer-encoding", "chunked"],
      ["cf-aig-log-id", "of another gateway"],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["x-request-id", "r"],
    ];
    const kept = replyHygiene(reply);
    expect(kept).toEqual([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["x-request-id", "r"],
    ]);
    expect(new Headers(toHeadersInit(kept)).getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  it("drops what would speak about the gateway's own origin", () => {
    const reply: HeaderPair[] = [
      ["alt-svc", 'h3=":443"'],
      ["strict-transport-security", "max-age=31536000; includeSubDomains"],
      ["clear-site-data", '"cookies"'],
      ["nel", "{}"],
      ["report-to", "{}"],
      ["reporting-endpoints", 'a="https://provider.test"'],
      ["access-control-allow-origin", "*"],
      ["access-control-allow-credentials", "true"],
      ["access-control-expose-headers", "x-request-id"],
      ["x-request-id", "r"],
    ];
    expect(replyHygiene(reply)).toEqual([["x-request-id", "r"]]);
  });
});

it("hasAmbiguousFraming() sees both framings in one request", () => {
  expect(hasAmbiguousFraming([["transfer-encoding", "chunked"]])).toBe(false);
  expect(
    hasAmbiguousFraming([
      ["content-length", "3"],
      ["transfer-encoding", "chunked"],
    ]),
  ).toBe(true);
});

describe("presentedToken()", () => {
  const token = (value: string, takesBare = true): string | null =>
    presentedToken([["cf-aig-authorization", value]], takesBare);

  it("takes a token without the scheme only where it may", () => {
    expect(token("abc", false)).toBeNull();
    expect(token("Basic abc", false)).toBeNull();
    expect(token("bearer abc", false)).toBe("abc");
  });

  it("takes the token behind any spelling of the scheme, or bare", () => {
    expect(token("Bearer abc")).toBe("abc");
    expect(token("bEARER   abc ")).toBe("abc");
    expect(token("abc")).toBe("abc");
  });

  it.each([
    "",
    "Bearer",
    "Bearer ",
    "Bearer a b",
    "Bearer a, Bearer b",
    "a\u00e9",
    "x".repeat(5000),
  ])("is null for %j", (value) => {
    expect(token(value)).toBeNull();
  });

  it("prefers the gw- header wherever it stands", () => {
    expect(
      gatewayHeader(
        [
          ["cf-aig-x", "1"],
          ["gw-aig-x", "2"],
        ],
        named("x"),
      ),
    ).toBe("2");
    expect(
      gatewayHeader(
        [
          ["gw-aig-x", "2"],
          ["cf-aig-x", "1"],
        ],
        named("x"),
      ),
    ).toBe("2");
  });
});

describe("parseControls()", () => {
  const of = (name: string, value: string) => parseControls([[`cf-aig-${name}`, value]]);

  it("leaves out metadata that is null, as the official client may send it", () => {
    const sent = '{"user":null,"a":1,"b":2,"c":3,"d":4,"e":5}';
    expect(of("metadata", sent).metadata).toBe('{"a":1,"b":2,"c":3,"d":4,"e":5}');
    expect(() => of("metadata", '{"user":{"id":1}}')).toThrow('in "user"');
  });

  it("reads every control header", () => {
    expect(
      parseControls([
        ["cf-aig-skip-cache", "true"],
        ["cf-aig-cache-ttl", "5"],
        ["cf-aig-cache-key", "k"],
        ["cf-aig-collect-log", "false"],
        ["cf-aig-collect-log-payload", "false"],
        ["cf-aig-metadata", '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}'],
        ["cf-aig-custom-cost", '{"per_token_in":0.1,"per_token_out":0.2}'],
        ["cf-aig-event-id", "e"],
        ["cf-aig-request-timeout", "100"],
        ["cf-aig-max-attempts", "3"],
        ["cf-aig-retry-delay", "10"],
        ["cf-aig-backoff", "linear"],
      ]),
    ).toEqual({
      skipCache: true,
      cacheTtl: 60,
      cacheKey: "k",
      collectLog: false,
      collectLogPayload: false,
      metadata: '{"a":1,"b":2,"c":3,"d":4,"e":5}',
      customCost: { perTokenIn: 0.1, perTokenOut: 0.2 },
      eventId: "e",
      requestTimeout: 100,
      maxAttempts: 3,
      retryDelay: 10,
      backoff: "linear",
    });
  });

  it("prefers gw- over cf- and the new name over the old alias", () => {
    expect(
      parseControls([
        ["cf-aig-cache-ttl", "100"],
        ["gw-aig-cache-ttl", "200"],
      ]).cacheTtl,
    ).toBe(200);
    expect(
      parseControls([
        ["gw-aig-cache-ttl", "200"],
        ["cf-aig-cache-ttl", "100"],
      ]).cacheTtl,
    ).toBe(200);
    expect(
      parseControls([
        ["cf-aig-cache-ttl", "100"],
        ["cf-cache-ttl", "300"],
      ]).cacheTtl,
    ).toBe(100);
    expect(parseControls([["cf-cache-ttl", "300"]]).cacheTtl).toBe(300);
  });

  it.each([
    ["skip-cache", "yes"],
    ["cache-ttl", "-1"],
    ["cache-ttl", "99999999"],
    ["max-attempts", "6"],
    ["max-attempts", "0"],
    ["retry-delay", "5001"],
    ["backoff", "never"],
    ["metadata", "[1]"],
    ["metadata", "{"],
    ["metadata", '{"a":{}}'],
    ["custom-cost", '{"total_cost":-1}'],
    ["custom-cost", '{"per_token_in":1}'],
    ["request-timeout", "soon"],
    ["event-id", "two\r\nlines"],
    ["event-id", "beyond Latin-1: ☃"],
  ])("names the malformed header %s: %s", (name, value) => {
    expect(() => of(name, value)).toThrow(new RegExp(`cf-aig-${name}`));
    expect(() => parseControls([[`gw-aig-${name}`, value]])).toThrow(`Header gw-aig-${name}:`);
  });

  it("names an old alias as it was sent", () => {
    expect(() => parseControls([["cf-cache-ttl", "soon"]])).toThrow("Header cf-cache-ttl:");
  });

  it.each([
    ["UTF-8, as most runtimes hand it over", "Z\u00c3\u00bcrich", "Zürich"],
    ["UTF-8 that the runtime has decoded", "東京", "東京"],
    ["Latin-1", "Z\u00fcrich", "Zürich"],
  ])("reads metadata in %s", (_, sent, read) => {
    expect(of("metadata", `{"city":"${sent}"}`).metadata).toBe(`{"city":"${read}"}`);
  });

  it("takes settings of the hosted service without effect", () => {
    expect(of("zdr", "true")).toEqual({});
    expect(of("no-wholesale", "true")).toEqual({});
  });

  it("names gateway headers that it does not know, also inherited names, eight of them and their beginnings", () => {
    expect(of("constructor", "x")).toEqual({ unknown: ["cf-aig-constructor"] });
    expect(of("cache_ttl", "60")).toEqual({
      unknown: ['cf-aig-cache_ttl: did you mean "cf-aig-cache-ttl"?'],
    });
    const many: HeaderPair[] = Array.from({ length: 20 }, (_, at) => [`gw-aig-${at}${at}x`, ""]);
    expect(parseControls(many).unknown).toHaveLength(8);
    expect(of("n".repeat(9000), "").unknown).toEqual([`cf-aig-${"n".repeat(57)}`]);
    expect(parseControls([["x-aig-novelty", "1"]])).toEqual({});
  });
});
