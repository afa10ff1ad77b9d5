import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What the server under test is started with, and what runs beside it. */
export interface PreparedTarget {
  readonly configFile: string;
  readonly token: string;
  readonly accountId: string;
  readonly upstreamUrl: string;
  stop(): Promise<void>;
}

/** Starts what the server under test calls (a local model server) and writes its configuration. */
export function prepareTarget(): Promise<PreparedTarget> {
  const folder = mkdtempSync(join(tmpdir(), "causey-config-"));
  const configFile = join(folder, "causey.json");
  writeFileSync(configFile, JSON.stringify({}));
  return Promise.resolve({
    configFile,
    token: "test-token-with-every-permission-000000",
    accountId: "local",
    upstreamUrl: "http://127.0.0.1:9",
    async stop() {
      rmSync(folder, { recursive: true, force: true });
      await Promise.resolve();
    },
  });
}
