import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { postgresStarter } from "../config/postgres-starter.ts";
import { prepareTarget } from "./prepare-target.ts";
import { startCluster } from "./start-cluster.ts";
import {
  isCluster,
  isOnPostgres,
  POSTGRES_STARTER,
  startTarget,
  targetName,
  type TargetOptions,
} from "./target.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The runtime under test. */
    target: string;
    /** The runtimes that answer at {@link ProvidedContext.baseUrl}. */
    runtimes: readonly string[];
    /** Address of the server under test, without a slash at the end. */
    baseUrl: string;
    /** An API token with every permission. */
    token: string;
    accountId: string;
    /** Address of the local model server that the server's configuration points to. */
    upstreamUrl: string;
  }
}

/** Starts the server under test once for all files; they read its address with `inject("baseUrl")`. */
export default async function startForAll(project: TestProject): Promise<() => Promise<void>> {
  // What Node has made of a TypeScript file is half of each start of a process. The other two keep it by themselves.
  const compileCache = mkdtempSync(join(tmpdir(), "causey-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = compileCache;
  const postgres = isOnPostgres() ? await postgresStarter() : undefined;
  if (postgres !== undefined) process.env[POSTGRES_STARTER] = postgres.address;
  const prepared = await prepareTarget();
  const { token, accountId, upstreamUrl } = prepared;
  const options: TargetOptions = {
    args: ["--account-id", accountId, "--config", prepared.configFile],
    demo: true,
    env: { CAUSEY_TOKEN: token },
  };
  const target = await startTarget(options);
  const cluster = isCluster() ? await startCluster(target, options) : undefined;
  project.provide("target", targetName());
  project.provide("runtimes", cluster?.runtimes ?? [targetName()]);
  project.provide("baseUrl", cluster?.url ?? target.url);
  project.provide("token", token);
  project.provide("accountId", accountId);
  project.provide("upstreamUrl", upstreamUrl);
  return async () => {
    await cluster?.stop();
    await target.stop();
    await prepared.stop();
    await postgres?.stop();
    rmSync(compileCache, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
}
