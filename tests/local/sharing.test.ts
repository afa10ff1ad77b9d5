import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { connect, evict, openPlatform } from "#platform";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { actorsSuite } from "../cases/actors.ts";
import { socketsKind, socketsSuite } from "../cases/sockets.ts";
import { runSuite } from "../cases/suite.ts";
import { host } from "../config/shared.ts";
import { exitOf, lineWith, start } from "./runtimes.ts";

/** A holder opens its door once its app has defined something. */
const first: ActorKind = { name: "first", schema: [], start: () => ({ methods: {} }) };

/** A platform whose actors live with another one over the same data directory, as they would in another process. */
async function openGuest(data: string): Promise<Platform> {
  const holder = await openPlatform({ data });
  holder.actors.define(first);
  const guest = await openPlatform({ data });
  return {
    ...guest,
    actors: {
      get: (kind, name) => guest.actors.get(kind, name),
      // Both run the same app.
      define(kind) {
        holder.actors.define(kind);
        guest.actors.define(kind);
      },
    },
    async close() {
      await guest.close();
      await holder.close();
    },
  };
}

describe("at a guest of the data directory", () => {
  runSuite(actorsSuite, async () => {
    const data = `guest-actors-${crypto.randomUUID()}`;
    const platform = await openGuest(data);
    return { platform, subject: { platform, reopen: () => openGuest(data) } };
  });

  runSuite(socketsSuite, async () => {
    const platform = await openGuest(`guest-sockets-${crypto.randomUUID()}`);
    platform.actors.define(socketsKind);
    return {
      platform,
      subject: {
        connect,
        evict,
        actor: (name) => platform.actors.get(socketsKind.name, name),
        countsFrames: true,
      },
    };
  });

  it("a script waits for its answers, and ends without closing anything", async () => {
    const data = `guest-script-${crypto.randomUUID()}`;
    const holder = await openPlatform({ data });
    const later = (): Promise<string> => holder.system.sleep(300).then(() => "later");
    holder.actors.define({ name: "slow", schema: [], start: () => ({ methods: { later } }) });
    const child = start(host, "sharing-script-child.ts", [host, join(inject("scratch"), data)]);
    const ended = exitOf(child);
    expect(await lineWith(child, "answer")).toBe(`answer "later"`);
    expect(await ended).toBe(0);
    await holder.close();
  });
});
