import { describe, expect, it } from "vitest";
import { isPublicAddress } from "../../../core/net/address.ts";
import { parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import { checkAddress, checkUrl } from "../../../core/net/check-url.ts";

const refused = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "::ffff:10.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::808:808",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:808:808::",
  "3fff::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "localhost",
  "",
  "1.2.3",
  "0x7f.0.0.1",
  "1.2.3.4.5",
];

const passed = [
  "1.1.1.1",
  "8.8.8.8",
  "93.184.215.14",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "::ffff:8.8.8.8",
  "::ffff:808:808",
  "2606:4700::6810:84e5",
  "2a00:1450:4001:80b::200e",
];

describe("isPublicAddress()", () => {
  it.each(refused)("refuses %j", (ip) => expect(isPublicAddress(ip)).toBe(false));
  it.each(passed)("passes %j", (ip) => expect(isPublicAddress(ip)).toBe(true));
});

describe("checkUrl()", () => {
  it.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0/",
    "http://①②⑦.0.0.1/",
    "http://127.0.0.1./",
    "HTTP://LOCALHOST/",
    "http://localhost./",
    "http://x.localhost:8080/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1:6666\\@1.1.1.1/",
    "http://user@1.1.1.1/",
    "http://1.1.1.1@127.0.0.1/",
    "https://:secret@example.com/",
    "file:///etc/passwd",
    "ftp://1.1.1.1/",
    "chrome://version",
    "view-source:http://1.1.1.1/",
    "data:text/html,x",
    "javascript:alert(1)",
    "blob:http://1.1.1.1/x",
    "//1.1.1.1/",
    "http://",
    "",
    "not a url",
  ])("refuses %j", (url) => expect(checkUrl(url).ok).toBe(false));

  it.each([
    "http://example.com/",
    "HTTPS://EXAMPLE.com:8443/x?y#z",
    "http://1.1.1.1/",
    "http://[::ffff:8.8.8.8]/",
  ])("passes %j", (url) => expect(checkUrl(url).ok).toBe(true));

  it("tells host and port apart for the dialler", () => {
    expect(checkUrl("https://[2606:4700::1]/")).toMatchObject({
      ok: true,
      host: "2606:4700::1",
      port: 443,
    });
    expect(checkUrl("http://Example.com.:8080/")).toMatchObject({
      ok: true,
      host: "example.com",
      port: 8080,
    });
  });
});

describe("parseAllowHosts()", () => {
  it("lets a host through on every port, and a host with a port on that one", () => {
    const allow = parseAllowHosts(["intranet.local", "127.0.0.1:9000", "[::1]:9001"]);
    expect(checkUrl("http://intranet.local:81/", allow).ok).toBe(true);
    expect(checkUrl("http://127.0.0.1:9000/", allow).ok).toBe(true);
    expect(checkUrl("http://0x7f.1:9000/", allow).ok).toBe(true);
    expect(checkUrl("http://127.0.0.1:9001/", allow).ok).toBe(false);
    expect(checkUrl("http://[0::1]:9001/", allow).ok).toBe(true);
    expect(checkUrl("http://[0::1]/", allow).ok).toBe(false);
  });

  it("lets subdomains of a suffix through, not the suffix or what only ends like it", () => {
    const allow = parseAllowHosts(["*.corp.internal"]);
    expect(checkUrl("http://a.b.corp.internal/", allow).ok).toBe(true);
    expect(checkUrl("http://corp.internal/", allow).ok).toBe(false);
    expect(checkUrl("http://evilcorp.internal/", allow).ok).toBe(false);
  });

  it("lets the addresses of a block through, whatever the name", () => {
    const allow = parseAllowHosts(["10.1.0.0/16"]);
    expect(checkAddress("build.example", 80, "10.1.2.3", allow)).toBe(true);
    expect(checkAddress("build.example", 80, "10.2.0.1", allow)).toBe(false);
    expect(checkUrl("http://10.1.9.9/", allow).ok).toBe(true);
  });

  it("refuses entries of another form", () => {
    for (const entry of [
      "",
      "http://x/",
      "a b",
      "host:0",
      "host:99999",
      "10.0.0.0/99",
      "*",
      "u@h",
      "h?x",
    ]) {
      expect(() => parseAllowHosts([entry]), entry).toThrow(/is not a host/u);
    }
  });
});
