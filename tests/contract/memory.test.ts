import { openPlatform } from "#platform";
import { compiledSqlite } from "#sqlite";
import { describe, inject } from "vitest";
import type { MemoryPlatformOptions } from "../../adapters/memory/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { actorsSuite } from "../cases/actors.ts";
import { backgroundSuite } from "../cases/background.ts";
import { socketsKind, socketsSuite } from "../cases/sockets.ts";
import { sqlActor, sqlInside, type RunSqlCase } from "../cases/sql.ts";
import { runSuite } from "../cases/suite.ts";
import { systemSuite } from "../cases/system.ts";
import { transportSuite } from "../cases/transport.ts";
import { webSocketsSuite } from "../cases/web-sockets.ts";
import { connectInMemory, evictFromMemory, openMemory } from "../platform/memory.ts";

// What every runtime's own platform shows, shown by memoryPlatform() on that runtime.

// That a platform starts the SQLite of its package shows unit/memory/platform.test.ts.
const open = (options: MemoryPlatformOptions = {}): Promise<Platform> =>
  openMemory({ ...compiledSqlite, ...options });

const FORGETS = "What is in memory is gone when it is closed";
const KEEPS =
  "fetch keeps several connections, and lets none be chosen: the next one may have ended too";
const HANGS = "Node's fetch hangs on an answer that ends with its connection while nobody reads";

describe("memoryPlatform()", () => {
  runSuite(
    actorsSuite,
    async () => {
      const platform = await open();
      return { platform, subject: { platform, reopen: () => open() } };
    },
    ({ restarts }) => (restarts === true ? FORGETS : null),
  );

  runSuite<RunSqlCase>(sqlInside, async () => {
    const platform = await open();
    platform.actors.define(sqlActor);
    return {
      platform,
      subject: (name) => platform.actors.get(sqlActor.name, "one").call("run", name),
    };
  });

  runSuite(backgroundSuite, async () => {
    const platform = await open();
    return { platform, subject: platform };
  });

  runSuite(systemSuite, async () => {
    const platform = await open();
    return { platform, subject: platform.system };
  });

  runSuite(socketsSuite, async () => {
    const platform = await open();
    platform.actors.define(socketsKind);
    return {
      platform,
      subject: {
        connect: connectInMemory,
        evict: evictFromMemory,
        actor: (name) => platform.actors.get(socketsKind.name, name),
        countsFrames: true,
      },
    };
  });

  const isNode = globalThis.navigator.userAgent.startsWith("Node.js/");
  runSuite(
    transportSuite,
    async () => {
      const platform = await open();
      const { transport, runtime } = platform;
      return { platform, subject: { transport, runtime, upstream: inject("upstream") } };
    },
    ({ name }) => {
      if (name.includes("the end of a kept connection")) return KEEPS;
      return isNode && name.startsWith("a slow reader gets all") ? HANGS : null;
    },
  );

  runSuite(webSocketsSuite, async () => {
    // The standard client sends no headers: the host brings another.
    const allowHosts = ["localhost"];
    const host = await openPlatform({ allowHosts });
    const platform = await open({ allowHosts, dialWebSocket: host.webSockets.dial });
    const close = async (): Promise<void> => {
      await platform.close();
      await host.close();
    };
    return {
      platform: { ...platform, close },
      subject: {
        webSockets: platform.webSockets,
        transport: platform.transport,
        upstream: inject("upstream"),
        stops: host.runtime !== "workers",
        strict: host.runtime !== "workers",
        closes: true,
        connect: (handler, protocols) =>
          connectInMemory({ fetch: async (request) => handler(request) }, protocols),
        close,
      },
    };
  });
});
