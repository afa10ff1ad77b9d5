import { openPlatform } from "#platform";
import { systemSuite } from "../cases/system.ts";
import { runSuite } from "../cases/suite.ts";

runSuite(systemSuite, async () => {
  const platform = await openPlatform();
  return { platform, subject: platform.system };
});
