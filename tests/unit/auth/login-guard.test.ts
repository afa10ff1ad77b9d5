import { describe, expect, it } from "vitest";
import { loginGuard, type LoginGuard } from "../../../core/auth/login-guard.ts";
import { newKey, newToken } from "../../../core/auth/token-format.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { clientNetwork } from "../../../core/net/client-address.ts";
import { fakePlatform, type ManualClock } from "../../fakes/auth-platform.ts";

const GUESS = "a-guess-of-the-token";
const GOOD = "the-token-of-the-file";
const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

interface Setup {
  readonly clock: ManualClock;
  readonly guard: LoginGuard;
  readonly warnings: readonly unknown[];
}

function setup(proxies = 0): Setup {
  const clock = { now: 1_000_000 };
  const warnings: unknown[] = [];
  const platform = {
    ...fakePlatform(clock),
    log: (level: string, message: string, fields: object = {}) =>
      void warnings.push({ level, message, ...fields }),
    clientAddress: (request: Request) => request.headers.get("x-peer"),
  };
  return { clock, guard: loginGuard(platform, { proxies }), warnings };
}

function from(peer: string, headers: Readonly<Record<string, string>> = {}): Request {
  return new Request("http://server.invalid/", { headers: { "x-peer": peer, ...headers } });
}

/** Fails, if need be, with the error that says for how long. */
function waitFor(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    const { status, options } = error as ApiError;
    expect(status).toBe(429);
    return options.headers?.["retry-after"] ?? "none";
  }
}

function fail(guard: LoginGuard, request: Request, times: number): void {
  for (let at = 0; at < times; at++) waitFor(() => guard.failed(request));
}

describe("a guard of logins", () => {
  it("refuses guesses of an address after a hundred failures, until time has passed", () => {
    const { guard, clock, warnings } = setup();
    fail(guard, from("192.0.2.1"), 99);
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.1")))).toBeNull();
    expect(waitFor(() => guard.failed(from("192.0.2.1")))).toBeNull();
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.1")))).toBe("1");
    expect(waitFor(() => guard.failed(from("192.0.2.1")))).toBe("1");
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.2")))).toBeNull();
    clock.now += 1001;
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.1")))).toBeNull();
    fail(guard, from("192.0.2.1"), 1000);
    expect(warnings).toEqual([
      { level: "warn", message: "Too many failed logins", address: "192.0.2.1", failures: 100 },
    ]);
  });

  it("looks up what cannot be guessed, and what was good from there", () => {
    const { guard } = setup();
    guard.passed(GOOD, from("192.0.2.1"));
    guard.passed(GOOD, from("2001:db8::1"));
    fail(guard, from("192.0.2.1"), 200);
    fail(guard, from("192.0.2.9"), 200);
    const wait = (token: string, peer: string): string | null =>
      waitFor(() => guard.check(token, from(peer)));
    expect(wait(GOOD, "192.0.2.1")).toBeNull();
    expect(wait(GOOD, "::ffff:192.0.2.1")).toBeNull();
    expect(wait(GUESS, "192.0.2.1")).toBe("1");
    // What is good elsewhere is a guess here.
    expect(wait(GOOD, "192.0.2.9")).toBe("1");
    for (const token of [newToken(random), newKey(random), "eyJhbGciOi.eyJpc3Mi.c2ln"])
      expect(wait(token, "192.0.2.1")).toBeNull();
  });

  it("has one budget for all addresses together, which refuses failures and checks every token", () => {
    const { guard, clock, warnings } = setup();
    for (let at = 0; at < 1000; at++) guard.failed(from(`10.0.${at >> 8}.${at & 255}`));
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.7")))).toBeNull();
    expect(waitFor(() => guard.failed(from("192.0.2.7")))).toBe("1");
    fail(guard, from("192.0.2.8"), 100);
    // An address keeps its own limit, which refuses before a token is checked.
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.8")))).toBe("1");
    expect(waitFor(() => guard.check(GUESS, from("192.0.2.9")))).toBeNull();
    clock.now += 1001;
    expect(waitFor(() => guard.failed(from("192.0.2.9")))).toBeNull();
    expect(warnings).toMatchObject([
      { address: "all together", failures: 1000 },
      { address: "192.0.2.8", failures: 100 },
    ]);
  });

  it("warns also when failures come back while it counts", () => {
    const { guard, clock, warnings } = setup();
    for (let at = 0; at < 200; at++) {
      clock.now += 3;
      waitFor(() => {
        guard.check(GUESS, from("192.0.2.1"));
        guard.failed(from("192.0.2.1"));
      });
    }
    expect(warnings).toMatchObject([{ address: "192.0.2.1", failures: 100 }]);
  });

  it("takes an IPv6 network for one address, and unknown ones for another", () => {
    const { guard } = setup();
    for (let at = 0; at < 100; at++) guard.failed(from(`2001:db8:0:1::${at.toString(16)}`));
    expect(waitFor(() => guard.check(GUESS, from("2001:db8:0:1:ffff::1")))).toBe("1");
    expect(waitFor(() => guard.check(GUESS, from("2001:db8:0:2::1")))).toBeNull();
    expect(clientNetwork("[2001:db8::1]:4711")).toBe(clientNetwork("2001:db8::2"));
    expect(clientNetwork("192.0.2.1:4711")).toBe("192.0.2.1");
    expect(clientNetwork("not an address")).toBe("");
  });

  it("believes only those proxies that the configuration counts", () => {
    const forwarded = { "x-forwarded-for": "203.0.113.5, 198.51.100.7" };
    const without = setup();
    fail(without.guard, from("192.0.2.1", forwarded), 100);
    expect(waitFor(() => without.guard.check(GUESS, from("192.0.2.1")))).toBe("1");
    const one = setup(1);
    fail(one.guard, from("192.0.2.1", forwarded), 100);
    const forged = { "x-forwarded-for": "203.0.113.99, 198.51.100.7" };
    expect(waitFor(() => one.guard.check(GUESS, from("192.0.2.1", forged)))).toBe("1");
    const other = { "x-forwarded-for": "203.0.113.5, 198.51.100.8" };
    expect(waitFor(() => one.guard.check(GUESS, from("192.0.2.1", other)))).toBeNull();
  });
});
