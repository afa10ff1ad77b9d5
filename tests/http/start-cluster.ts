import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { roundRobin } from "../../scripts/round-robin.ts";
import {
  databaseOf,
  startTarget,
  type Target,
  type TargetName,
  targetName,
  type TargetOptions,
} from "./target.ts";

/** One port in front of several servers. */
export interface Cluster {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly runtimes: readonly TargetName[];
  stop(): Promise<void>;
}

const OTHERS = ["deno", "bun"] as const;
/** What a server keeps in its folder beside the database: all of a cluster need the same. */
const SHARED = ["token", "demo-webhook-secret"];

/** Starts a server of Deno and one of Bun on the database of a first one; a port in front takes each connection to the next. */
export async function startCluster(first: Target, options: TargetOptions): Promise<Cluster> {
  const database = await databaseOf(first.dataDir);
  const folders: string[] = [];
  const others = await Promise.all(
    OTHERS.map((target) => {
      const dataDir = mkdtempSync(join(tmpdir(), "causey-target-"));
      folders.push(dataDir);
      for (const name of SHARED)
        if (existsSync(join(first.dataDir, name)))
          copyFileSync(join(first.dataDir, name), join(dataDir, name));
      return startTarget({ ...options, target, dataDir, env: { ...options.env, ...database } });
    }),
  );
  const ports = [first, ...others].map(({ url }) => Number(new URL(url).port));
  const front = roundRobin(() => ports);
  await new Promise<void>((resolve) => void front.listen(0, "127.0.0.1", resolve));
  const address = front.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    runtimes: [targetName(), ...OTHERS],
    url: `http://127.0.0.1:${port}`,
    async stop() {
      front.close();
      for (const one of others) await one.stop();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}
