import type { ActorContext, Connection, Plain, SqlRow, SqlValue } from "../../core/ports.ts";
import { fakeClock, settled, type FakeClock } from "./rendering-system.ts";

/** A client whose reading the test decides on. */
export interface FakeClient extends Connection {
  /** Set to 0 when the test has the client read: then no frame waits either. */
  buffered: number;
  /** A client that reads: nothing stays unsent. */
  reads: boolean;
  readonly frames: { readonly type: string; readonly [key: string]: Plain }[];
  closedWith: number | undefined;
  /** The most bytes that ever waited for it. */
  peak: number;
}

/** A client that reads, unless told otherwise. */
export function fakeClient(id: string, attachment: Plain = {}): FakeClient {
  let unsent = 0;
  let frames = 0;
  const client: FakeClient = {
    id,
    tags: [],
    attachment,
    get buffered() {
      return unsent;
    },
    set buffered(bytes) {
      unsent = bytes;
      if (bytes === 0) frames = 0;
    },
    get queued() {
      return frames;
    },
    reads: true,
    frames: [],
    closedWith: undefined,
    peak: 0,
    send(message) {
      if (client.closedWith !== undefined) return false;
      if (!client.reads) client.buffered += message.length;
      if (!client.reads) frames += 1;
      client.peak = Math.max(client.peak, client.buffered);
      client.frames.push(JSON.parse(String(message)) as (typeof client.frames)[number]);
      return true;
    },
    close: (code) => {
      client.closedWith = code;
    },
  };
  return client;
}

/** Other actors, where there are none. */
export const noActors: ActorContext["actors"] = {
  get: () => ({
    call: () => Promise.reject(new Error("No other actors")),
    fetch: () => Promise.reject(new Error("No other actors")),
  }),
};

/** A context without a database, whose clock stands still until it is moved. */
export function fakeContext(
  clients: readonly FakeClient[],
  query: (sql: string, params: readonly SqlValue[]) => SqlRow[] = () => [],
): { readonly context: ActorContext; advance: FakeClock["advance"] } {
  const { advance, system } = fakeClock();
  const open = (): FakeClient[] => clients.filter((one) => one.closedWith === undefined);
  const context: ActorContext = {
    name: "crowd",
    steady: () => system.now(),
    actors: noActors,
    system,
    alarm: () => Promise.resolve([]),
    sql: {
      dialect: "sqlite",
      all: (sql, params = []) => Promise.resolve(query(sql, params)),
      batch: () => Promise.resolve([]),
      close: () => Promise.resolve(),
    },
    sockets: {
      accept: () => new Response(),
      broadcast: () => undefined,
      connections: open,
    },
  };
  return { context, advance };
}

export { settled };
