import { describe } from "vitest";
import { connect, evict, openPlatform } from "#platform";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { actorsSuite } from "../cases/actors.ts";
import { socketsKind, socketsSuite } from "../cases/sockets.ts";
import { runSuite } from "../cases/suite.ts";

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
});
