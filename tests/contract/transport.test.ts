import { inject } from "vitest";
import { openPlatform } from "#platform";
import { transportSuite } from "../cases/transport.ts";
import { runSuite } from "../cases/suite.ts";

runSuite(transportSuite, async () => {
  const platform = await openPlatform();
  const { transport, runtime } = platform;
  return { platform, subject: { transport, runtime, upstream: inject("upstream") } };
});
