import { createSocket, type RemoteInfo } from "node:dgram";
import { lookup } from "node:dns/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  dnsResolve,
  dnsResolver,
  resolveChecked,
  resolverOf,
  systemResolve,
} from "../../adapters/shared/egress/egress-resolve.ts";
import { allowNone, parseAllowHosts } from "../../core/net/allow-hosts.ts";
import { TransportError } from "../../core/net/transport-error.ts";

const server = createSocket("udp4");
/** Questions about names that get no answer. */
let unanswered = 0;
const resolve = (): ReturnType<typeof dnsResolver> =>
  dnsResolver([`127.0.0.1:${server.address().port}`]);

/** The answer of a DNS server (RFC 1035): the question again, and one address where there is one. */
function answer(question: Buffer, address: readonly number[] | null): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const head = Buffer.from(question.subarray(0, 12));
  // A response; recursion is available; one answer or none, and nothing after it.
  head.set([0x81, 0x80], 2);
  head.set([0, address === null ? 0 : 1, 0, 0, 0, 0], 6);
  const kind = [...question.subarray(end - 4, end)];
  const record =
    address === null ? [] : [0xc0, 12, ...kind, 0, 0, 0, 60, 0, address.length, ...address];
  return Buffer.concat([head, question.subarray(12, end), Buffer.from(record)]);
}

beforeAll(async () => {
  server.on("message", (question: Buffer, from: RemoteInfo) => {
    const isSix = question[question.indexOf(0, 12) + 2] === 28;
    const text = question.toString("latin1");
    const v4 = text.includes("inside") ? [10, 0, 0, 7] : [93, 184, 215, 14];
    const v6 = [0x26, 0x06, ...Array<number>(13).fill(0), 1];
    if (text.includes("hung")) unanswered += 1;
    else if (text.includes("none")) server.send(answer(question, null), from.port, from.address);
    else if (!isSix) server.send(answer(question, v4), from.port, from.address);
    else {
      const found = text.includes("both") ? v6 : null;
      server.send(answer(question, found), from.port, from.address);
    }
  });
  await new Promise<void>((ready) => server.bind(0, "127.0.0.1", ready));
});
afterAll(() => new Promise<void>((done) => server.close(done)));

describe("a name that a caller steers", () => {
  it.each([
    ["four.test", ["93.184.215.14"]],
    ["both.test", ["93.184.215.14", "2606::1"]],
  ])("%s has every address that DNS has", async (host, expected) => {
    const found = await resolveChecked(host, 443, { allow: allowNone, resolve: resolve() });
    expect(found.map(({ address }) => address)).toEqual(expected);
  });

  it("is unreachable without an address, and refused with a private one", async () => {
    const kindOf = async (host: string): Promise<unknown> =>
      resolveChecked(host, 443, { allow: allowNone, resolve: resolve() }).catch((error: unknown) =>
        error instanceof TransportError ? error.reason : error,
      );
    expect(await kindOf("none.test")).toBe("unreachable");
    expect(await kindOf("inside.test")).toBe("refused");
  });

  it("holds no other name up while its server does not answer, and is given up in time", async () => {
    const hung = Array.from({ length: 50 }, (_, n) =>
      resolveChecked(`hung-${n}.test`, 443, {
        allow: allowNone,
        resolve: resolve(),
        withinMs: 3000,
      }).then(
        () => "resolved",
        (error: unknown) => (error instanceof TransportError ? error.message : error),
      ),
    );
    expect(await Promise.race([hung[0], lookup("localhost")])).toHaveProperty("address");
    expect(
      await resolveChecked("four.test", 443, { allow: allowNone, resolve: resolve() }),
    ).toHaveLength(1);
    for (const message of await Promise.all(hung)) expect(message).toMatch(/resolved/u);
    expect(unanswered).toBeGreaterThanOrEqual(50);
  });
});

describe("the resolver", () => {
  const allow = parseAllowHosts(["db.corp.test", "10.0.0.0/8"]);
  it.each([
    ["site.test", dnsResolve],
    ["other.corp.test", dnsResolve],
    ["db.corp.test", systemResolve],
    ["printer", systemResolve],
  ])("of %s is the system's only for what an operator named", (host, expected) => {
    expect(resolverOf(host, 443, allow)).toBe(expected);
  });
});
