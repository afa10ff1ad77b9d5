import { writeFileSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import {
  environmentProxy,
  isLoopback,
  environmentProxyFor,
} from "../../adapters/shared/http/environment-proxy.ts";
import { host } from "../config/shared.ts";
import { type Child, exitOf, lineWith, start } from "./runtimes.ts";

/** What a child prints until it ends. */
function wholeOutput({ stdout }: Child): Promise<string> {
  let text = "";
  stdout.on("data", (chunk: Uint8Array) => (text += new TextDecoder().decode(chunk)));
  return new Promise((resolve) => {
    stdout.once("end", () => {
      resolve(text);
    });
  });
}

/** What the site prints when a client closes a WebSocket with 4001. */
const closing = (path: string): string => `"closed":"${path}","code":4001`;

describe("a proxy of the environment", () => {
  it("is asked for configured addresses, and for nothing else", async ({ onTestFinished }) => {
    const proxy = start("node", "company-proxy.mjs", []);
    onTestFinished(() => void proxy.kill());
    const log = wholeOutput(proxy);
    const first = JSON.parse(await lineWith(proxy, "authority")) as Record<string, string>;
    const folder = mkdtempSync(join(inject("scratch"), "proxy-"));
    const authority = join(folder, "authority.pem");
    writeFileSync(authority, first["authority"] ?? "");
    const address = `http://user:passw0rd@127.0.0.1:${first["proxy"]}`;
    const ends = ["gone", ...["/e", "/f?key=s3cret", "/g", "/h"].map(closing)].map((line) =>
      lineWith(proxy, line),
    );
    // Only when something else has failed before.
    for (const end of ends) end.catch(() => undefined);
    const child = start(host, "environment-proxy-child.ts", [host, String(first["plain"])], {
      ...process.env,
      http_proxy: undefined,
      https_proxy: undefined,
      no_proxy: undefined,
      HTTP_PROXY: address,
      HTTPS_PROXY: address,
      NO_PROXY: "other.invalid,.internal.invalid",
      NODE_EXTRA_CA_CERTS: authority,
      DENO_CERT: authority,
      // It would ask the proxy for its own news.
      DENO_NO_UPDATE_CHECK: "1",
    });
    const [output, code] = await Promise.all([wholeOutput(child), exitOf(child)]);
    expect([code, output]).toEqual([0, expect.stringContaining("guarded")]);
    const lines = output.trim().split("\n");
    const outcomes = Object.fromEntries(
      lines.map((line) => JSON.parse(line) as [string, string]),
    ) as Record<string, string>;
    expect(outcomes).toMatchObject({
      http: "200 proxied /a",
      https: "200 secure /b?key=s3cret",
      stream: "data: 1\n\n",
      loopback: "200 plain /c",
      localhost: "200 plain /d",
      "guarded loopback": "200 plain /e",
    });
    expect(outcomes).toMatchObject({
      socket: "plain /e true",
      "secure socket": "secure /f?key=s3cret true",
      "http socket": "plain /g true",
      "refused socket": "refused 403",
      "loopback socket": "plain /h true",
    });
    for (const name of [
      "refused",
      "no proxy",
      "guarded",
      "socket without a way",
      "unproxied socket",
      "silent proxy",
      "left socket",
      "steered socket",
    ]) {
      expect(outcomes[name]).toContain("TransportError");
      expect(outcomes[name]).not.toMatch(/s3cret|passw0rd/);
    }
    // What was read and cancelled through the tunnel ends at its other end.
    await Promise.all(ends);
    proxy.kill();
    const asked = await log;
    const authorization = `Basic ${btoa("user:passw0rd")}`;
    const requests = asked
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => "asked" in line);
    expect(new Set(requests.map((line) => line["asked"]))).toEqual(
      new Set([
        "http://site.test/a",
        "site.test:443",
        "site.test:80",
        "forbidden.test:443",
        "silent.test:443",
      ]),
    );
    for (const line of requests) expect(line).toMatchObject({ authorization });
  });

  it("is read from either spelling, with or without a scheme", () => {
    expect(environmentProxy({})).toBeUndefined();
    expect(environmentProxy({ HTTP_PROXY: "", NO_PROXY: "*" })).toBeUndefined();
    expect(
      environmentProxy({ http_proxy: "proxy.test:3128", HTTP_PROXY: "http://no.test" }),
    ).toEqual({ httpProxy: "http://proxy.test:3128/" });
    expect(environmentProxy({ HTTPS_PROXY: "https://u:p@proxy.test" })).toEqual({
      httpsProxy: "https://u:p@proxy.test/",
    });
  });

  it("is refused by name, not by value, when it is none", () => {
    for (const value of ["ftp://u:s3cret@x", "http://", "http://u:s3cret@:x"]) {
      const read = (): unknown => environmentProxy({ HTTPS_PROXY: value });
      expect(read).toThrow(/HTTPS_PROXY/);
      expect(read).not.toThrow(/s3cret/);
    }
  });

  it("is chosen for a WebSocket by its scheme, as for a request", () => {
    const both = { HTTP_PROXY: "http://p.test:1", HTTPS_PROXY: "http://s.test:2" };
    expect(environmentProxyFor({})("wss://a.test/")).toBeNull();
    expect(environmentProxyFor(both)("ws://a.test/")?.host).toBe("p.test:1");
    expect(environmentProxyFor(both)("wss://a.test/")?.host).toBe("s.test:2");
    const one = { HTTP_PROXY: "p.test" };
    expect(environmentProxyFor(one)("wss://a.test/")?.host).toBe("p.test");
    expect(environmentProxyFor({ HTTPS_PROXY: "p.test" })("ws://a.test/")).toBeNull();
    for (const name of ["localhost", "127.0.0.1", "[::1]"])
      expect(environmentProxyFor(both)(`ws://${name}:9/`)).toBeNull();
  });

  it("is passed by what NO_PROXY names, with all below it, and by nothing else", () => {
    const cases: [list: string, direct: string[], proxied: string[]][] = [
      ["a.test", ["a.test", "b.a.test", "A.TEST.", "a.test:99"], ["ba.test", "test", "a.test.b"]],
      [".a.test", ["a.test", "b.a.test"], ["ba.test"]],
      ["*.a.test", ["b.a.test"], ["a.test"]],
      ["a.test:444, b.test  c.test.", ["a.test:444", "b.test", "c.test"], ["a.test", "d.test"]],
      ["a.test:443", ["a.test"], ["a.test:80"]],
      ["[2001:db8::1]:444,2001:db8::2", ["[2001:db8::1]:444", "[2001:db8::2]"], ["[2001:db8::1]"]],
      ["10.0.0.1", ["10.0.0.1"], ["110.0.0.1", "10.0.0.11"]],
      ["*", ["a.test", "10.0.0.1"], []],
      ["*:444", ["a.test:444"], ["a.test"]],
      [" , ,", [], ["a.test"]],
    ];
    for (const [list, direct, proxied] of cases) {
      const by = environmentProxyFor({ HTTPS_PROXY: "p.test", NO_PROXY: list });
      for (const name of direct)
        expect([list, name, by(`wss://${name}/`)]).toEqual([list, name, null]);
      for (const name of proxied)
        expect([list, name, by(`wss://${name}/`)?.host]).toEqual([list, name, "p.test"]);
    }
    expect(
      environmentProxyFor({ HTTPS_PROXY: "p.test", no_proxy: "a.test", NO_PROXY: "*" })(
        "wss://b.test",
      ),
    ).not.toBeNull();
  });

  it("does not stand in for this machine", () => {
    for (const name of ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "0x7f.1"])
      expect([name, isLoopback(`http://${name}:1/x`)]).toEqual([name, true]);
    for (const name of ["localhost.test", "127.0.0.1.test", "128.0.0.1", "[::2]", "10.0.0.1"])
      expect([name, isLoopback(`https://${name}/`)]).toEqual([name, false]);
  });
});
