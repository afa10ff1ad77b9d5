import { describe, expect, it } from "vitest";
import { failureText, networkFailureOf } from "../../../core/net/network-failure.ts";
import { TransportError } from "../../../core/net/transport-error.ts";

const coded = (code: string, message = "x"): Error => Object.assign(new Error(message), { code });

describe("networkFailureOf()", () => {
  it.each([
    ["dns", coded("ENOTFOUND")],
    ["dns", coded("EAI_AGAIN")],
    ["dns", new Error("DNS lookup failed.")],
    ["refused", coded("ECONNREFUSED")],
    ["tls", coded("DEPTH_ZERO_SELF_SIGNED_CERT")],
    ["tls", coded("CERT_HAS_EXPIRED")],
    ["tls", coded("ERR_TLS_CERT_ALTNAME_INVALID")],
    ["tls", new Error("TLS peer's certificate is not trusted; reason = self signed certificate")],
    ["proxy", coded("UND_ERR_ABORTED", "Proxy response (407) !== 200 when HTTP Tunneling")],
    ["reset", coded("ECONNRESET")],
    ["reset", coded("UND_ERR_SOCKET", "other side closed")],
    ["timeout", coded("UND_ERR_CONNECT_TIMEOUT")],
    [
      "refused",
      new Error("client error (Connect): tcp connect error: Connection refused (os error 111)"),
    ],
    ["dns", new Error("client error (Connect): dns error: failed to lookup address information")],
    ["reset", new Error("connection closed before message completed")],
    [null, new Error("internal error; reference = abc")],
    [null, "text"],
  ] as const)("is %s", (failure, error) => {
    expect(networkFailureOf(error)).toBe(failure);
    expect(networkFailureOf(new TypeError("fetch failed", { cause: error }))).toBe(failure);
  });

  it("looks into the first of several attempts to connect", () => {
    const error = new AggregateError([coded("ECONNREFUSED"), coded("ENETUNREACH")], "");
    expect(networkFailureOf(error)).toBe("refused");
  });

  it("follows no chain for ever", () => {
    const error = new Error("round");
    error.cause = error;
    expect(networkFailureOf(error)).toBeNull();
  });
});

it("the text of a failure is one bounded line, with the code once", () => {
  expect(failureText(coded("ENOTFOUND", "getaddrinfo ENOTFOUND a"))).toBe(
    "getaddrinfo ENOTFOUND a",
  );
  expect(failureText(coded("CERT_HAS_EXPIRED", "certificate\n has expired"))).toBe(
    "certificate has expired (CERT_HAS_EXPIRED)",
  );
  expect(failureText(new Error("\n".repeat(40_000) + "x"))).toBe("");
  expect(failureText(new Error("x".repeat(1000)))).toHaveLength(200);
});

it("the text of a failure repeats no path, query or login of an address", () => {
  const said =
    "WebSocket connection to 'wss://u:s3cret@a.test:81/b?key=s3cret' failed: (http://a.test/s3cret)";
  expect(failureText(new Error(said))).toBe(
    "WebSocket connection to 'wss://a.test:81' failed: (http://a.test)",
  );
  expect(networkFailureOf(new Error("error for url (http://proxy.test/tls/dns)"))).toBeNull();
});

it("an error that is no failure of the network has no class", () => {
  const failureOf = (...args: ConstructorParameters<typeof TransportError>): unknown =>
    new TransportError(...args).failure;
  expect(failureOf("refused", "x")).toBeNull();
  expect(failureOf("aborted", "x", { cause: coded("ECONNRESET") })).toBeNull();
  expect(failureOf("broken", "The answer is no JSON")).toBeNull();
  expect(failureOf("broken", "x", { cause: coded("ECONNRESET") })).toBe("reset");
  expect(failureOf("late", "x")).toBe("timeout");
  expect(failureOf("unreachable", "x")).toBe("unreachable");
});
