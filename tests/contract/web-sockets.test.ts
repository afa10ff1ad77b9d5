import { inject } from "vitest";
import { connect, openPlatform } from "#platform";
import { runSuite } from "../cases/suite.ts";
import { webSocketsSuite } from "../cases/web-sockets.ts";

runSuite(webSocketsSuite, async () => {
  const platform = await openPlatform();
  const { runtime, transport, webSockets } = platform;
  return {
    platform,
    subject: {
      webSockets,
      transport,
      upstream: inject("upstream"),
      stops: { dialled: runtime !== "workers", accepted: runtime === "node" },
      connect: (handler, protocols) =>
        connect(
          {
            call: () => Promise.reject(new Error("Not called")),
            fetch: (request) => Promise.resolve(handler(request)),
          },
          protocols,
        ),
      close: () => platform.close(),
    },
  };
});
