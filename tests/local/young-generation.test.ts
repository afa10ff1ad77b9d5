import { describe, expect } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimes, start } from "./runtimes.ts";

interface Told {
  readonly pid: number;
  readonly execArgv: readonly string[];
  readonly args: readonly string[];
}

const ALL_YOUNG = "--no-allocation-site-pretenuring";

describe.each(runtimes)("the young generation on %s", (runtime) => {
  const it = itUnless(missing(runtime) || undefined);
  const told = async (env: NodeJS.ProcessEnv): Promise<Told> => {
    const child = start(runtime, "young-generation-child.ts", ["--port", "0"], {
      ...process.env,
      ...env,
    });
    const line = await lineWith(child, "pid");
    expect(await exitOf(child)).toBe(0);
    const found = JSON.parse(line) as Told;
    // The same process with the same arguments, whatever it became.
    expect(found).toMatchObject({ pid: child.pid, args: ["--port", "0"] });
    return found;
  };

  it("is bounded by flags of V8's start on Node, and starts no other runtime again", async () => {
    const { execArgv } = await told({ NODE_OPTIONS: "" });
    const flags = execArgv.filter((flag) => /pretenuring|semi-space/.test(flag));
    expect(flags).toEqual(runtime === "node" ? [ALL_YOUNG, "--max-semi-space-size=16"] : []);
  });

  it("is as large as whoever starts the server wants it", async () => {
    const { execArgv } = await told({ NODE_OPTIONS: "--max-semi-space-size=64" });
    const flags = execArgv.filter((flag) => /pretenuring|semi-space/.test(flag));
    expect(flags).toEqual(runtime === "node" ? [ALL_YOUNG] : []);
  });
});
