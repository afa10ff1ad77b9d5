import { connectLiving, connectMute, openPlatform } from "#platform";
import { runSuite } from "../cases/suite.ts";
import { vanishedKind, vanishedSuite } from "../cases/vanished-peers.ts";

runSuite(vanishedSuite, async () => {
  const platform = await openPlatform();
  platform.actors.define(vanishedKind);
  return {
    platform,
    subject: {
      connectLiving,
      connectMute,
      actor: (name) => platform.actors.get(vanishedKind.name, name),
    },
  };
});
