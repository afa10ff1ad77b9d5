import { expect } from "vitest";
import { isSendableCode } from "../../core/net/duplex.ts";
import type { InboundResponse } from "../../core/ports.ts";
import { eventually, PATIENCE_MS } from "./eventually.ts";
import type { Suite } from "./suite.ts";
import {
  type WebSocketsSubject,
  fresh,
  dial,
  accept,
  noteOf,
  id,
  reasonOf,
  expectEnd,
  kindAndBytes,
  messages,
  violations,
} from "./web-sockets-subject.ts";

/** What every `WebSockets` shows. */
export const webSocketsSuite: Suite<WebSocketsSubject> = {
  port: "WebSockets",
  needs: "sockets",
  cases: [
    {
      name: "dial() hands over headers, query and subprotocols, and tells which one was selected",
      async run(subject) {
        const duplex = await dial(subject, "echo?q=1%2F2", {
          headers: [
            ["authorization", "Bearer key"],
            ["x-listed", "1"],
            ["connection", "x-listed"],
            ["sec-websocket-protocol", "not-this"],
          ],
          protocols: ["first", "second"],
        });
        expect(duplex.protocol).toBe("second");
        const seen = JSON.parse(String(await duplex.receive())) as {
          url: string;
          headers: Record<string, string>;
        };
        expect(seen.url).toBe("/ws/echo?q=1%2F2");
        expect(seen.headers["authorization"]).toBe("Bearer key");
        expect(seen.headers["x-listed"]).toBeUndefined();
        expect(seen.headers["sec-websocket-protocol"]?.split(/, ?/)).toEqual(["first", "second"]);
        duplex.close();
        await duplex.closed;
      },
    },
    {
      name: "a dialled connection keeps the kind, the bytes and the order of messages",
      async run(subject) {
        const duplex = await dial(subject, "echo");
        await duplex.receive();
        for (const message of messages) expect(await duplex.send(message)).toBe(true);
        for (const message of messages)
          expect(kindAndBytes(await duplex.receive())).toBe(kindAndBytes(message));
        duplex.close();
        await duplex.closed;
      },
    },
    {
      name: "an accepted connection keeps the kind, the bytes and the order of messages",
      async run(subject) {
        const { client, duplex } = await accept(subject);
        for (const message of messages) client.send(message);
        for (const message of messages)
          expect(kindAndBytes(await duplex.receive())).toBe(kindAndBytes(message));
        for (const message of messages) expect(await duplex.send(message)).toBe(true);
        for (const message of messages)
          expect(kindAndBytes(await client.next())).toBe(kindAndBytes(message));
        client.close();
        await duplex.closed;
      },
    },
    {
      name: "accept() selects a subprotocol that the client offered",
      async run(subject) {
        const { client, duplex } = await accept(subject, ["first", "second"], "second");
        expect([client.protocol, duplex.protocol]).toEqual(["second", "second"]);
        client.close();
        await duplex.closed;
      },
    },
    {
      name: "accept() refuses a request that is no upgrade with 426",
      run({ webSockets }) {
        expect(() => webSockets.accept(new Request("http://x.test/"))).toThrow(
          expect.objectContaining({ status: 426 }) as Error,
        );
        return Promise.resolve();
      },
    },
    {
      name: "what the peer sent before it closed is still read, then comes its code and reason",
      async run(subject) {
        const duplex = await dial(subject, "close");
        await duplex.send('{"code":4321,"reason":"Grüße"}');
        await expectEnd(duplex.closed, { code: 4321, reason: "Grüße" });
        for (let i = 0; i < 5; i++) expect(await duplex.receive()).toBe(`last ${i}`);
        expect(await duplex.receive()).toBeNull();
        expect(await duplex.send("late")).toBe(false);
      },
    },
    {
      name: "close() tells the peer code and reason, on both kinds of connection",
      async run(subject) {
        const name = id();
        for (const [code, reason] of [
          [1000, ""],
          [1001, "away"],
          [1011, "bad"],
          [4000, "Grüße"],
        ] as const) {
          const duplex = await dial(subject, `echo?id=${name}${code}`);
          duplex.close(code, reason);
          await expectEnd(duplex.closed, { code, reason });
          expect(await duplex.receive()).toBeNull();
          await eventually(
            async () => (await noteOf(subject, `${name}${code}`)).code === code,
            `the server hears ${code}`,
          );
          expect((await noteOf(subject, `${name}${code}`)).reason).toBe(reason);
          const ends = await accept(subject);
          ends.duplex.close(code, reason);
          await expectEnd(ends.client.closed, { code, reason });
        }
      },
    },
    {
      name: "the client's code and reason arrive",
      async run(subject) {
        const { client, duplex } = await accept(subject);
        client.close(4001, "enough");
        await expectEnd(duplex.closed, { code: 4001, reason: "enough" });
      },
    },
    {
      name: "a peer that vanishes is 1006",
      async run(subject) {
        const duplex = await dial(subject, "die");
        await duplex.send("now");
        expect((await duplex.closed).code).toBe(1006);
        expect(await duplex.receive()).toBeNull();
      },
    },
    {
      name: "a refused handshake shows its status, headers and body",
      async run({ webSockets, upstream }) {
        const dialled = await webSockets.dial({
          url: `${upstream}/ws/refuse`,
          headers: [],
          reach: "configured",
          timeoutMs: PATIENCE_MS,
          signal: fresh(),
        });
        const refusal: InboundResponse | null = "refusal" in dialled ? dialled.refusal : null;
        expect(refusal?.status).toBe(401);
        expect(refusal?.headers).toContainEqual(["x-kept", "yes"]);
        expect(await new Response(refusal?.body as BodyInit).text()).toBe(
          '{"error":"no such key"}',
        );
      },
    },
    {
      name: "a server that passes over all subprotocols has not accepted",
      async run(subject) {
        const work = dial(subject, "echo", { protocols: ["first"] });
        expect(await reasonOf(work)).toBe("unreachable");
      },
    },
    {
      name: "nobody there is unreachable, and nobody who answers in time is late",
      async run(subject) {
        const nobody = { url: "http://127.0.0.1:9/?key=s3cret" };
        expect(await reasonOf(dial(subject, "", nobody))).toBe("unreachable");
        const name = id();
        expect(await reasonOf(dial(subject, `silent?id=${name}`, { timeoutMs: 200 }))).toBe("late");
        await eventually(async () => (await noteOf(subject, name)).gone, "the attempt is over");
      },
    },
    {
      name: "an abort ends the handshake, and does nothing afterwards",
      async run(subject) {
        const name = id();
        const control = new AbortController();
        const { signal } = control;
        const work = reasonOf(dial(subject, `silent?id=${name}`, { signal }));
        await eventually(async () => (await noteOf(subject, name)).came, "the request is there");
        control.abort();
        expect(await work).toBe("aborted");
        await eventually(async () => (await noteOf(subject, name)).gone, "the attempt is over");
        const late = new AbortController();
        const duplex = await dial(subject, "echo", { signal: late.signal });
        late.abort();
        await duplex.receive();
        await duplex.send("still there");
        expect(await duplex.receive()).toBe("still there");
        duplex.close();
        await duplex.closed;
      },
    },
    {
      name: "an address that a caller steers has to be public",
      async run(subject) {
        expect(await reasonOf(dial(subject, "echo", { reach: "public" }))).toBe("refused");
      },
    },
    {
      name: "an address that a caller steers is reached when it passes the guard",
      async run(subject) {
        const { port } = new URL(subject.upstream);
        const url = `http://localhost:${port}/ws/echo`;
        const duplex = await dial(subject, "", { reach: "public", url });
        const seen = JSON.parse(String(await duplex.receive())) as {
          headers: Record<string, string>;
        };
        expect(seen.headers["host"]).toBe(`localhost:${port}`);
        await duplex.send("there");
        expect(await duplex.receive()).toBe("there");
        duplex.close();
        await duplex.closed;
      },
    },
    {
      name: "a reader that falls behind stops the server, or ends the connection within a bound",
      async run(subject) {
        const name = id();
        const duplex = await dial(subject, `flood?id=${name}`);
        if (subject.stops) {
          await new Promise((resolve) => setTimeout(resolve, 500));
          expect((await noteOf(subject, name)).sent).toBeLessThan(64 * 1024 * 1024);
          for (let i = 0; i < 500; i++) expect(await duplex.receive()).toHaveLength(65_536);
          duplex.close();
          await duplex.closed;
        } else expect((await duplex.closed).code).toBe(1013);
        await eventually(async () => (await noteOf(subject, name)).gone, "the connection is over");
      },
    },
    {
      name: "send() waits for a peer that does not read",
      async run(subject) {
        const { duplex } = { duplex: await dial(subject, "deaf") };
        const chunk = new Uint8Array(1024 * 1024);
        let sent = 0;
        const sending = (async () => {
          while (sent < 200 && (await duplex.send(chunk))) sent += 1;
        })();
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(sent).toBeLessThan(50);
        duplex.close(1001);
        await sending;
        expect((await duplex.closed).code).toBe(1001);
      },
    },
    {
      name: "a message over 16 MiB ends the connection with 1009",
      async run(subject) {
        const { client, duplex } = await accept(subject);
        client.send(new Uint8Array(16 * 1024 * 1024 + 1));
        expect((await duplex.closed).code).toBe(1009);
      },
    },
    {
      name: "a dialled server's message over 16 MiB ends the connection with 1009, in one piece or in many",
      async run(subject) {
        for (const fragments of [1, 20]) {
          const name = id();
          const duplex = await dial(subject, `big?fragments=${fragments}&id=${name}`);
          expect(await duplex.receive()).toBeNull();
          expect((await duplex.closed).code).toBe(1009);
          await eventually(async () => (await noteOf(subject, name)).gone, "it is over");
        }
      },
    },
    {
      name: "a server that breaks the protocol loses the connection, and is not read on",
      async run(subject) {
        for (const [what, hex] of violations) {
          const name = id();
          const duplex = await dial(subject, `raw?id=${name}&hex=${hex}`);
          if (subject.strict) {
            expect([what, await duplex.receive()]).toEqual([what, null]);
            const code = what.includes("UTF-8") ? 1007 : 1002;
            expect([what, (await duplex.closed).code]).toEqual([what, code]);
          }
          duplex.close();
          const { code } = await duplex.closed;
          expect([what, code === 1005 || code === 1006 || isSendableCode(code)]).toEqual([
            what,
            true,
          ]);
          await eventually(async () => (await noteOf(subject, name)).gone, "it is over");
        }
      },
    },
    {
      name: "what is open when the platform closes ends with 1001",
      async run(subject) {
        const name = id();
        const duplex = await dial(subject, `echo?id=${name}`);
        const { client } = await accept(subject);
        if (!subject.closes) {
          duplex.close();
          client.close();
          return;
        }
        const [end] = await Promise.all([client.closed, duplex.closed, subject.close()]);
        expect([end.code, (await duplex.closed).code]).toEqual([1001, 1001]);
      },
    },
    {
      name: "hundreds of connections leave nothing open",
      async run(subject) {
        const name = id();
        for (let round = 0; round < 10; round++) {
          const duplexes = await Promise.all(
            Array.from({ length: 20 }, (_, i) => dial(subject, `echo?id=${name}-${round}-${i}`)),
          );
          for (const duplex of duplexes) duplex.close();
          await Promise.all(duplexes.map(({ closed }) => closed));
        }
        await eventually(
          async () => (await noteOf(subject, `${name}-9-19`)).gone,
          "the last connection is over",
        );
      },
    },
  ],
};
