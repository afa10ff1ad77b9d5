// The program of docs/memory.md for an edge runtime, which tests run and compare with the page.
// shown: edge
import sqlite from "@sqlite.org/sqlite-wasm/sqlite3.wasm";
import { platformApi, type PlatformApi } from "causey";
import { memoryPlatform } from "causey/memory";

let app: Promise<PlatformApi> | undefined;

/** Opened by the first request: many edge runtimes allow no timers and no randomness before one. */
async function open(): Promise<PlatformApi> {
  const platform = await memoryPlatform({ sqlite, databaseBytes: 16 * 1024 * 1024 });
  return platformApi({ platform, demo: true });
}

export default {
  async fetch(request: Request): Promise<Response> {
    app ??= open();
    return (await app).fetch(request);
  },
};
// end
