import { openPlatform } from "#platform";
import { runSuite } from "../cases/suite.ts";
import { wireSuite } from "../cases/wire.ts";

// One place for all cases, where the browser is unpacked once.
const data = `wire-${crypto.randomUUID()}`;

runSuite(wireSuite, async () => {
  const platform = await openPlatform({ data });
  return { platform, subject: platform.browser };
});
