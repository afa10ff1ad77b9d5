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
