import { connect, evict, openPlatform } from "#platform";
import { socketsKind, socketsSuite } from "../cases/sockets.ts";
import { runSuite } from "../cases/suite.ts";

runSuite(socketsSuite, async () => {
  const platform = await openPlatform();
  platform.actors.define(socketsKind);
  return {
    platform,
    subject: {
      connect,
      evict,
      actor: (name) => platform.actors.get(socketsKind.name, name),
      // workerd tells nobody what is unsent.
      countsFrames: platform.runtime !== "workers",
    },
  };
});
