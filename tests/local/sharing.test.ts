import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { connect, evict, openPlatform } from "#platform";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { actorsSuite } from "../cases/actors.ts";
import { socketsKind, socketsSuite } from "../cases/sockets.ts";
import { runSuite } from "../cases/suite.ts";
import { host } from "../config/shared.ts";
import { exitOf, lineWith, start } from "./runtimes.ts";

/** A lock owner listens once its app has defined something. */
const first: ActorKind = { name: "first", schema: [], start: () => ({ methods: {} }) };

/** A platform whose actors live with another one over the same data directory, as they would in another process. */
async function openPeer(data: string): Promise<Platform> {
  const owner = await openPlatform({ data });
  owner.actors.define(first);
  const peer = await openPlatform({ data });
  return {
    ...peer,
    actors: {
      get: (kind, name) => peer.actors.get(kind, name),
      // Both run the same app.
      define(kind) {
        owner.actors.define(kind);
        peer.actors.define(kind);
      },
    },
    async close() {
      await peer.close();
      await owner.close();
    },
  };
}

describe("at a peer of the data directory", () => {
  runSuite(actorsSuite, async () => {
    const data = `peer-actors-${crypto.randomUUID()}`;
    const platform = await openPeer(data);
    return { platform, subject: { platform, reopen: () => openPeer(data) } };
  });

  runSuite(socketsSuite, async () => {
    const platform = await openPeer(`peer-sockets-${crypto.randomUUID()}`);
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
    const data = `peer-script-${crypto.randomUUID()}`;
    const owner = await openPlatform({ data });
    const later = (): Promise<string> => owner.system.sleep(300).then(() => "later");
    owner.actors.define({ name: "slow", schema: [], start: () => ({ methods: { later } }) });
    const child = start(host, "sharing-script-child.ts", [host, join(inject("scratch"), data)]);
    const ended = exitOf(child);
    expect(await lineWith(child, "answer")).toBe(`answer "later"`);
    expect(await ended).toBe(0);
    await owner.close();
  });
});
