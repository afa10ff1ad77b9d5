import { connect } from "node:net";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { noBrowser, startTarget, type Target } from "./target.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");
const authorization = `Bearer ${token}`;
const minify = "/client/v4/zones/0123/settings/minify";

interface Refusal {
  readonly errors: readonly { readonly code: number; readonly message: string }[];
}

const get = (path: string, init: RequestInit = {}, root: string = base): Promise<Response> =>
  fetch(`${root}${path}`, { headers: { authorization }, ...init });

describe("retired endpoints", () => {
  it("answer 410 in the envelope with the signals of their end", async () => {
    const response = await get(minify);
    expect(response.status).toBe(410);
    const { headers } = response;
    expect([headers.get("deprecation"), headers.get("sunset")]).toEqual([
      "@1722816000",
      "Mon, 05 Aug 2024 00:00:00 GMT",
    ]);
    expect([headers.get("cache-control"), headers.get("x-should-retry")]).toEqual([
      "no-store",
      "false",
    ]);
    expect(headers.get("link")).toBe(
      '</client/v4/deprecations#setting-minify.01>; rel="deprecation"; type="text/html"',
    );
    expect(await response.json()).toMatchObject({
      result: null,
      success: false,
      errors: [
        { code: 10410, message: expect.stringContaining("was retired on 2024-08-05") as string },
      ],
      deprecation: { id: "setting-minify.01", replacement: [] },
    });
  });

  it("link their successor", async () => {
    const response = await get(`/client/v4/accounts/${account}/images/v1/direct_upload`, {
      method: "POST",
    });
    expect(response.status).toBe(410);
    expect(response.headers.get("link")).toContain(
      `</client/v4/accounts/${account}/images/v2/direct_upload>; rel="successor-version"`,
    );
  });

  it("tell strangers nothing but 401", async () => {
    const response = await fetch(`${base}${minify}`);
    expect(response.status).toBe(401);
    expect(((await response.json()) as Refusal).errors[0]?.code).toBe(10000);
  });

  it("leave HEAD to the router", async () => {
    expect((await get(minify, { method: "HEAD" })).status).toBe(404);
  });
});

describe("live routes", () => {
  it("carry no signal, also where the table has a field of theirs", async () => {
    for (const path of [`/accounts/${account}`, "/accounts", "/user/tokens/verify"]) {
      const response = await get(`/client/v4${path}`);
      expect(response.status).toBe(200);
      expect(response.headers.has("deprecation")).toBe(false);
    }
  });
});

describe("GET /client/v4/deprecations", () => {
  it("shows the whole table to anyone, with phases", async () => {
    const response = await fetch(`${base}/client/v4/deprecations`);
    expect(response.status).toBe(200);
    const { result } = (await response.json()) as { result: { id: string; phase: string }[] };
    expect(result).toHaveLength(144);
    expect(result.find(({ id }) => id === "setting-minify.01")?.phase).toBe("retired");
  });

  const page = `${base}/client/v4/deprecations`;

  it("is a page in a browser, with an anchor for each entry and its links", async () => {
    const response = await fetch(page, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const html = await response.text();
    expect(html.match(/<section id="/gu)).toHaveLength(144);
    expect(html).toContain('<a href="/client/v4/deprecations?phase=retired">');
    const link = (await get(minify)).headers.get("link") ?? "";
    const [, anchor = ""] = /#([^>]+)>; rel="deprecation"/u.exec(link) ?? [];
    expect(html).toContain(`<section id="${anchor}">`);
  });

  it("is sent once to whoever keeps it, and packed", async () => {
    for (const accept of ["text/html", "application/json"]) {
      const first = await fetch(page, { headers: { accept, "accept-encoding": "gzip" } });
      expect(first.headers.get("content-encoding")).toBe("gzip");
      expect((await first.text()).length).toBeGreaterThan(40_000);
      const etag = first.headers.get("etag") ?? "";
      expect(etag).not.toBe("");
      const again = await fetch(page, { headers: { accept, "if-none-match": etag } });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
  });

  it("shows one phase or one entry, and refuses what it does not know", async () => {
    const { result, result_info: info } = (await (await fetch(`${page}?phase=retired`)).json()) as {
      result: { phase: string }[];
      result_info: object;
    };
    expect(new Set(result.map(({ phase }) => phase))).toEqual(new Set(["retired"]));
    expect(info).toEqual({ count: result.length, total_count: 144 });
    const one = (await (await fetch(`${page}/setting-minify.01`)).json()) as { result: object };
    expect(one.result).toMatchObject({ id: "setting-minify.01", phase: "retired" });
    for (const [query, message] of [
      ["?date=soon", 'Unknown parameter "date" with the value "soon": it takes phase'],
      ["?phase=retird", 'did you mean "retired"?'],
    ] as const) {
      const wrong = await fetch(`${page}${query}`);
      const { errors } = (await wrong.json()) as Refusal;
      expect([wrong.status, errors[0]?.message]).toEqual([
        400,
        expect.stringContaining(message) as string,
      ]);
    }
  });
});

describe("a request with two kinds of framing", () => {
  it("is declined with 400, by the runtime or by the rule", async () => {
    const { port, host } = new URL(base);
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    const head = [
      "POST /client/v4/user/tokens HTTP/1.1",
      `Host: ${host}`,
      `Authorization: ${authorization}`,
      "Transfer-Encoding: chunked",
      "Content-Length: 2",
      "Connection: close",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("deprecations.clock", () => {
  let target: Target;
  const folder = mkdtempSync(join(tmpdir(), "causey-clock-"));

  beforeAll(async () => {
    const file = join(folder, "causey.json");
    writeFileSync(file, JSON.stringify({ deprecations: { clock: "2024-08-04T23:59:59Z" } }));
    target = await startTarget({
      args: ["--config", file, "--account-id", account],
      env: { ...noBrowser, CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target.stop();
    rmSync(folder, { recursive: true });
  });

  it("pins the day: a route that ends tomorrow is announced, one that ended is gone", async () => {
    const tomorrow = await get(minify, {}, target.url);
    expect([tomorrow.status, tomorrow.headers.get("sunset")]).toEqual([
      404,
      "Mon, 05 Aug 2024 00:00:00 GMT",
    ]);
    const past = await get("/client/v4/zones/0123/settings/mobile_redirect", {}, target.url);
    expect(past.status).toBe(410);
  });
});
