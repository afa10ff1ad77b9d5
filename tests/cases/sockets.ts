import { expect } from "vitest";
import { ApiError } from "../../core/http/api-error.ts";
import type { ActorContext, ActorKind, ActorRef, Connection, Plain } from "../../core/ports.ts";
import type { TestSocket } from "../platform/open-platform.d.ts";
import { eventually } from "./eventually.ts";
import type { Suite } from "./suite.ts";

/** What the suite works on. */
export interface SocketsSubject {
  /** An actor of {@link socketsKind} with this name. */
  actor(name: string): ActorRef;
  connect(ref: ActorRef, protocols?: readonly string[]): Promise<TestSocket>;
  /** Drops the instances of all actors from memory, as idleness does. */
  evict(): Promise<void>;
  /** Whether the runtime tells what is unsent. */
  readonly countsFrames: boolean;
}

const text = (value: Plain): string => JSON.stringify(value);

/** How the next connection is accepted. */
type Next = { id?: string; tags?: string[]; attachment?: Plain };

function start(context: ActorContext): ReturnType<ActorKind["start"]> {
  const { sockets, sql, system } = context;
  // In the database: a busy machine may evict the actor between two steps of a test.
  const stored = async (key: "next" | "closed"): Promise<Plain | undefined> => {
    const query = "SELECT value FROM t_sockets WHERE actor = ? AND key = ?";
    const [row] = await sql.all(query, [context.name, key]);
    return row === undefined ? undefined : JSON.parse(String(row["value"]));
  };
  const store = async (key: "next" | "closed", value: Plain): Promise<void> => {
    const statement =
      "INSERT INTO t_sockets (actor, key, value) VALUES (?, ?, ?) ON CONFLICT (actor, key) DO UPDATE SET value = excluded.value";
    await sql.batch([{ sql: statement, params: [context.name, key, text(value)] }]);
  };
  const started = system.id();
  let release = (): void => undefined;
  const list = (tag?: string): Plain =>
    sockets
      .connections(tag)
      .map(({ id, tags, attachment }) => ({ id, tags: [...tags], attachment }));
  return {
    methods: {
      started: () => started,
      next: (options: Next) => store("next", options),
      list,
      closed: async () => (await stored("closed")) ?? [],
      broadcast: (message: string, except: string[]) => {
        sockets.broadcast(message, except);
      },
      attach: (id: string, value: Plain) => {
        const connection = sockets.connections().find((one) => one.id === id);
        if (connection !== undefined) connection.attachment = value;
      },
      flood(id: string) {
        const connection = sockets.connections().find((one) => one.id === id);
        const message = "x".repeat(64 * 1024);
        // Nothing is read meanwhile: both ends share this thread, or the loop never yields.
        for (let sent = 0; sent < 2000; sent++) if (connection?.send(message) !== true) return sent;
        return 2000;
      },
      /** How many of a hundred small frames are unsent, behind one that the system does not take at once. */
      pile(id: string) {
        const connection = sockets.connections().find((one) => one.id === id);
        if (connection === undefined) return null;
        const large = "x".repeat(256 * 1024);
        for (let tries = 0; tries < 1000 && connection.buffered === 0; tries++)
          connection.send(large);
        const before = connection.queued;
        for (let sent = 0; sent < 100; sent++) connection.send("small");
        return connection.queued - before;
      },
      queued: (id: string) => sockets.connections().find((one) => one.id === id)?.queued ?? null,
    },
    async fetch(request) {
      // `as`: what a test has stored.
      const next = ((await stored("next")) ?? {}) as Next;
      const response = sockets.accept(request, { protocol: "causey", ...next });
      for (const one of sockets.connections()) if (one.id === next.id) one.send("welcome");
      return response;
    },
    async onMessage(connection: Connection, message) {
      if (message === "close") {
        connection.close(4002, "Asked for");
        expect(connection.send("too late")).toBe(false);
      } else if (message === "hold") {
        await new Promise<void>((resolve) => (release = resolve));
        connection.send("held");
      } else {
        connection.send(message);
        if (message === "release") release();
      }
    },
    onClose: ({ id }, code, reason) => store("closed", [[id, code, reason]]),
  };
}

/** The actor that the suite talks to. */
export const socketsKind: ActorKind = {
  name: "sockets-suite",
  schema: [
    "CREATE TABLE t_sockets (actor TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (actor, key))",
  ],
  start,
};

/** What every `Sockets` shows. */
export const socketsSuite: Suite<SocketsSubject> = {
  port: "Sockets",
  needs: "sockets",
  cases: [
    {
      name: "a request that is no upgrade is 426",
      async run({ actor }) {
        const refused = actor("a")
          .fetch(new Request("http://actor.test/"))
          .catch((error: unknown) => error);
        expect(await refused).toBeInstanceOf(ApiError);
        expect(await refused).toMatchObject({ status: 426 });
      },
    },
    {
      name: "text and bytes go both ways, in order, while an earlier message is still handled",
      async run({ actor, connect }) {
        const socket = await connect(actor("a"));
        const bytes = new Uint8Array([0, 1, 255]);
        for (const message of ["hold", "2", "Grüße 🐘", bytes, "", "release"]) socket.send(message);
        const back = [];
        for (let i = 0; i < 6; i++) back.push(await socket.next());
        expect(back).toEqual(["2", "Grüße 🐘", bytes, "", "release", "held"]);
        socket.close();
      },
    },
    {
      name: "what is sent right after accept() arrives first",
      async run({ actor, connect }) {
        await actor("a").call("next", { id: "one" });
        const socket = await connect(actor("a"));
        expect(await socket.next()).toBe("welcome");
        socket.close();
      },
    },
    {
      name: "a subprotocol is selected when the client offers it, and only then",
      async run({ actor, connect }) {
        const offering = await connect(actor("a"), ["other", "causey"]);
        const silent = await connect(actor("a"));
        expect([offering.protocol, silent.protocol]).toEqual(["causey", ""]);
        offering.close();
        silent.close();
      },
    },
    {
      name: "broadcast() reaches every connection of this actor except those named",
      async run({ actor, connect }) {
        const sockets: TestSocket[] = [];
        for (const id of ["one", "two", "three"]) {
          await actor("a").call("next", { id });
          sockets.push(await connect(actor("a")));
        }
        const other = await connect(actor("b"));
        for (const socket of sockets) await socket.next();
        await actor("a").call("broadcast", "first", ["two"]);
        await actor("a").call("broadcast", "second", []);
        await actor("b").call("broadcast", "elsewhere", []);
        const [one, two, three] = sockets;
        expect([await one?.next(), await one?.next()]).toEqual(["first", "second"]);
        expect(await two?.next()).toBe("second");
        expect([await three?.next(), await three?.next()]).toEqual(["first", "second"]);
        expect(await other.next()).toBe("elsewhere");
        for (const socket of [...sockets, other]) socket.close();
      },
    },
    {
      name: "connections are found by tag and keep their attachment",
      async run({ actor, connect }) {
        const ref = actor("a");
        await ref.call("next", { id: "one", tags: ["x", "y"], attachment: { n: 1 } });
        const one = await connect(ref);
        await ref.call("next", { id: "two", tags: ["y"] });
        const two = await connect(ref);
        expect(text(await ref.call("list", "x"))).toBe(
          text([{ id: "one", tags: ["x", "y"], attachment: { n: 1 } }]),
        );
        expect(await ref.call("list", "y")).toHaveLength(2);
        expect(await ref.call("list", "one")).toEqual([]);
        await ref.call("attach", "two", ["later"]);
        expect(await ref.call("list", "y")).toMatchObject([
          { id: "one" },
          { id: "two", attachment: ["later"] },
        ]);
        await expect(ref.call("attach", "two", "x".repeat(3000))).rejects.toThrow();
        one.close();
        two.close();
      },
    },
    {
      name: "a connection with an id in use closes the older one with 1000",
      async run({ actor, connect }) {
        await actor("a").call("next", { id: "same" });
        const older = await connect(actor("a"));
        const newer = await connect(actor("a"));
        expect((await older.closed).code).toBe(1000);
        expect(await actor("a").call("list")).toHaveLength(1);
        expect(await newer.next()).toBe("welcome");
        newer.send("still here");
        expect(await newer.next()).toBe("still here");
        newer.close();
      },
    },
    {
      name: "the actor hears how a client closed",
      async run({ actor, connect }) {
        await actor("a").call("next", { id: "one" });
        const socket = await connect(actor("a"));
        socket.close(4321, "My reason");
        await eventually(
          async () => text(await actor("a").call("closed")) !== "[]",
          "onClose runs",
        );
        expect(await actor("a").call("closed")).toEqual([["one", 4321, "My reason"]]);
        expect(await actor("a").call("list")).toEqual([]);
      },
    },
    {
      name: "the client hears how the actor closed",
      async run({ actor, connect }) {
        const socket = await connect(actor("a"));
        socket.send("close");
        expect(await socket.closed).toEqual({ code: 4002, reason: "Asked for" });
        await eventually(
          async () => text(await actor("a").call("list")) === "[]",
          "the connection is gone",
        );
      },
    },
    {
      name: "a client that does not read is bounded and closed with 1013",
      async run({ actor, connect }) {
        await actor("a").call("next", { id: "slow" });
        const socket = await connect(actor("a"));
        expect(Number(await actor("a").call("flood", "slow"))).toBeLessThan(2000);
        expect((await socket.closed).code).toBe(1013);
        expect(await actor("a").call("list")).toEqual([]);
      },
    },
    {
      name: "unsent frames are counted, read ones no more (0 where nobody can know)",
      async run({ actor, connect, countsFrames }) {
        await actor("a").call("next", { id: "one" });
        const socket = await connect(actor("a"));
        expect(await actor("a").call("pile", "one")).toBe(countsFrames ? 100 : 0);
        const read = async (): Promise<string | Uint8Array> => socket.next();
        for (let small = 0; small < 100;) if ((await read()) === "small") small += 1;
        await eventually(
          async () => (await actor("a").call("queued", "one")) === 0,
          "all is read and none is queued",
        );
        socket.close();
      },
    },
    {
      name: "a message over 1 MiB closes the connection with 1009",
      async run({ actor, connect }) {
        const socket = await connect(actor("a"));
        socket.send("x".repeat(1024 * 1024 + 1));
        expect((await socket.closed).code).toBe(1009);
      },
    },
    {
      name: "a text frame ping is answered pong",
      async run({ actor, connect }) {
        const socket = await connect(actor("a"));
        socket.send("ping");
        expect(await socket.next()).toBe("pong");
        socket.close();
      },
    },
    {
      name: "connections survive the eviction of their actor",
      async run({ actor, connect, evict }) {
        const ref = actor("a");
        await ref.call("next", { id: "one", tags: ["t"], attachment: "kept" });
        const socket = await connect(ref);
        await socket.next();
        const before = await ref.call("started");
        await evict();
        socket.send("hello");
        expect(await socket.next()).toBe("hello");
        expect(await ref.call("started")).not.toBe(before);
        expect(await ref.call("list")).toEqual([{ id: "one", tags: ["t"], attachment: "kept" }]);
        socket.close();
      },
    },
  ],
};
