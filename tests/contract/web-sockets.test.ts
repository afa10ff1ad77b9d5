import { inject } from "vitest";
import { connect, openPlatform } from "#platform";
import { runSuite } from "../cases/suite.ts";
import { webSocketsSuite } from "../cases/web-sockets.ts";

runSuite(webSocketsSuite, async () => {
  const platform = await openPlatform({ allowHosts: ["localhost"] });
  const { runtime, transport, webSockets } = platform;
  return {
    platform,
    subject: {
      webSockets,
      transport,
      upstream: inject("upstream"),
      // workerd can neither pause a WebSocket nor tell when it ends, and replaces what is no UTF-8
      // (docs/gateway/websockets.md).
      stops: runtime !== "workers",
      strict: runtime !== "workers",
      closes: platform.system.closing !== undefined && runtime !== "workers",
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
