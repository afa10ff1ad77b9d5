import { expect } from "vitest";
import { failureWords, type NetworkFailure } from "../../core/net/network-failure.ts";
import { TransportError } from "../../core/net/transport-error.ts";
import type { Case } from "./suite.ts";
import { type TransportSubject, get, id, noteOf, textOf } from "./transport-subject.ts";

async function failureOf(work: Promise<unknown>): Promise<TransportError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(TransportError);
  return error as TransportError;
}

/** How a connection fails, and what a kept one does that has ended. */
export const transportFailures: readonly Case<TransportSubject>[] = [
  {
    name: "an error names the step of the connection that failed, as far as the runtime does",
    async run({ transport, upstream }) {
      const port = await textOf(await transport.send(get(`${upstream}/tls-port`)));
      const plain = new URL(upstream).port;
      const addresses: readonly (readonly [NetworkFailure, string])[] = [
        ["dns", "http://does-not-exist.invalid/"],
        ["refused", "http://127.0.0.1:2/"],
        ["tls", `https://127.0.0.1:${port}/`],
        ["tls", `https://127.0.0.1:${plain}/`],
        ["reset", `${upstream}/reset`],
        ["reset", `${upstream}/hangup`],
      ];
      for (const [failure, url] of addresses) {
        const error = await failureOf(transport.send(get(url)));
        // workerd has one sentence for all connections that fail, and none for names and certificates.
        const isWorkerd = navigator.userAgent === "Cloudflare-Workers";
        const named = isWorkerd ? "unreachable" : failure;
        expect([url, error.failure]).toEqual([url, named]);
        expect(error.message).toContain(`${failureWords[named].detail}: `);
      }
      const late = await failureOf(transport.send(get(`${upstream}/silent`, { beginMs: 20 })));
      expect(late.failure).toBe("timeout");
    },
  },
  {
    name: "a request that meets the end of a kept connection is sent once more, if that can be",
    async run(subject) {
      const { transport, upstream } = subject;
      const name = id();
      const post = (): Promise<string> =>
        transport
          .send({
            ...get(`${upstream}/restart?id=${name}`),
            method: "POST",
            body: new TextEncoder().encode("{}"),
          })
          .then(textOf);
      for (let sent = 0; sent < 6; sent++) expect(await post()).toBe("ok");
      // The second of each connection was sent twice.
      expect((await noteOf(subject, name)).bytes).toBeGreaterThan(6);
      // A connection of its own was no kept one: what was asked may have been done.
      const fresh = id();
      await failureOf(transport.send(get(`${upstream}/reset?id=${fresh}`)));
    },
  },
];
