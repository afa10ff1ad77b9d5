import { openPlatform } from "#platform";
import { backgroundSuite } from "../cases/background.ts";
import { runSuite } from "../cases/suite.ts";

runSuite(backgroundSuite, async () => {
  const platform = await openPlatform();
  return { platform, subject: platform };
});
