import { expect } from "vitest";
import type { ActorContext, ActorKind, ActorRef, Plain } from "../../core/ports.ts";
import { eventually, LONG, patience } from "./eventually.ts";
import type { Suite } from "./suite.ts";

/** What the suite works on. */
export interface VanishedSubject {
  /** An actor of {@link vanishedKind} with this name. */
  actor(name: string): ActorRef;
  /** Connects a client that answers nothing any more, and never closes. */
  connectMute(ref: ActorRef): Promise<void>;
  /** Connects a client that lives; the function ends it. */
  connectLiving(ref: ActorRef): Promise<() => void>;
}

/** Runtimes ping every 25 s, and need two pings. Nothing works meanwhile. */
const PATIENT_MS = 200_000;

function start({
  name,
  sockets,
  sql,
  alarm,
  steady,
}: ActorContext): ReturnType<ActorKind["start"]> {
  const { vanished } = sockets;
  const look = async (): Promise<void> => {
    if (vanished?.isNeeded() === true) await alarm(steady() + vanished.everyMs);
  };
  const closed = async (id: string, code: number): Promise<void> => {
    const statement = "INSERT INTO t_vanished (actor, id, code) VALUES (?, ?, ?)";
    await sql.batch([{ sql: statement, params: [name, id, code] }]);
  };
  return {
    methods: {
      open: (): Plain => sockets.connections().map(({ id }) => id),
      closed: async (): Promise<Plain> => {
        const rows = await sql.all("SELECT id, code FROM t_vanished WHERE actor = ?", [name]);
        return rows.map((row) => [String(row["id"]), Number(row["code"])]);
      },
    },
    async fetch(request) {
      const id = new URL(request.url).searchParams.get("id") ?? "mute";
      const response = sockets.accept(request, { id });
      await look();
      return response;
    },
    async onAlarm() {
      for (const { id } of vanished?.end() ?? []) await closed(id, 1006);
      await look();
    },
    onClose: ({ id }, code) => closed(id, code),
  };
}

/** The actor that the suite talks to. It asks for vanished peers, where it has to. */
export const vanishedKind: ActorKind = {
  name: "vanished-suite",
  schema: ["CREATE TABLE t_vanished (actor TEXT NOT NULL, id TEXT NOT NULL, code BIGINT NOT NULL)"],
  start,
};

/** How every `Sockets` notices that a peer is gone. */
export const vanishedSuite: Suite<VanishedSubject> = {
  port: "Sockets, of peers that vanish",
  needs: "sockets",
  cases: [
    {
      name: "the actor hears once of a peer that vanished, and a living one stays",
      timeoutMs: LONG.timeout,
      async run({ actor, connectLiving, connectMute }) {
        const ref = actor("a");
        const end = await connectLiving(ref);
        await connectMute(ref);
        const others = (await ref.call("open")) as readonly string[];
        expect(others).toHaveLength(2);
        const heard = async (): Promise<readonly unknown[]> =>
          (await ref.call("closed")) as readonly unknown[];
        const goesOn = patience(PATIENT_MS);
        while ((await heard()).length === 0 && goesOn())
          await new Promise((resolve) => setTimeout(resolve, 100));
        expect(await heard()).toEqual([["mute", 1006]]);
        expect(await ref.call("open")).toEqual(["living"]);
        end();
        await eventually(async () => (await heard()).length === 2, "the actor hears of the other");
        expect(await ref.call("open")).toEqual([]);
      },
    },
  ],
};
