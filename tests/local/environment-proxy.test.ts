import { writeFileSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { environmentProxy, isLoopback } from "../../adapters/shared/environment-proxy.ts";
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
    const gone = lineWith(proxy, "gone");
    // Only when something else has failed before.
    gone.catch(() => undefined);
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
    for (const name of ["refused", "no proxy", "guarded"]) {
      expect(outcomes[name]).toContain("TransportError");
      expect(outcomes[name]).not.toMatch(/s3cret|passw0rd/);
    }
    // What was read and cancelled through the tunnel ends at its other end.
    await gone;
    proxy.kill();
    const asked = await log;
    const authorization = `Basic ${btoa("user:passw0rd")}`;
    const requests = asked
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => "asked" in line);
    expect(new Set(requests.map((line) => line["asked"]))).toEqual(
      new Set(["http://site.test/a", "site.test:443", "forbidden.test:443"]),
    );
    for (const line of requests) expect(line).toMatchObject({ authorization });
  }, 30_000);

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

  it("does not stand in for this machine", () => {
    for (const name of ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "0x7f.1"])
      expect([name, isLoopback(`http://${name}:1/x`)]).toEqual([name, true]);
    for (const name of ["localhost.test", "127.0.0.1.test", "128.0.0.1", "[::2]", "10.0.0.1"])
      expect([name, isLoopback(`https://${name}/`)]).toEqual([name, false]);
  });
});
