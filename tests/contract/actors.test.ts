import { openPlatform } from "#platform";
import { actorsSuite } from "../cases/actors.ts";
import { runSuite } from "../cases/suite.ts";

runSuite(actorsSuite, async () => {
  const data = `actors-${crypto.randomUUID()}`;
  const platform = await openPlatform({ data });
  return { platform, subject: { platform, reopen: () => openPlatform({ data }) } };
});
