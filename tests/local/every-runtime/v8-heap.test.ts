import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { itUnless } from "../../config/it-unless.ts";
import { root } from "../../config/shared.ts";
import { exitOf, fileCommand, lineWith, missing, runtimes, start } from "../runtimes.ts";

interface Told {
  readonly pid: number;
  readonly execArgv: readonly string[];
  readonly args: readonly string[];
  /** Of glibc. */
  readonly regions?: string;
}

const ALL_YOUNG = "--no-allocation-site-pretenuring";
const LIMIT = "--max-semi-space-size=16";
const SLOW_GROWTH = "--heap-growing-percent=30";
const COLLECTABLE = "--expose-gc";
const KINDS = /pretenuring|semi-space|heap-growing|expose-gc/;

describe.each(runtimes)("the heap of V8 on %s", (runtime) => {
  const it = itUnless(missing(runtime) || undefined);
  const told = async (env: NodeJS.ProcessEnv): Promise<Told> => {
    const child = start(runtime, "v8-heap-child.ts", ["--port", "0"], {
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
    const flags = execArgv.filter((flag) => KINDS.test(flag));
    expect(flags).toEqual(runtime === "node" ? [ALL_YOUNG, LIMIT, SLOW_GROWTH, COLLECTABLE] : []);
  });

  it("is as large as whoever starts the server wants it", async () => {
    const { execArgv } = await told({ NODE_OPTIONS: "--max-semi-space-size=64" });
    const flags = execArgv.filter((flag) => KINDS.test(flag));
    expect(flags).toEqual(runtime === "node" ? [ALL_YOUNG, SLOW_GROWTH, COLLECTABLE] : []);
  });
});

describe("the memory of glibc on Node", () => {
  const it = itUnless(process.platform === "linux" ? undefined : "glibc is the library of Linux");
  const regions = async (env: NodeJS.ProcessEnv): Promise<string | undefined> => {
    const { MALLOC_ARENA_MAX: _, ...outer } = process.env;
    const child = start("node", "v8-heap-child.ts", [], { ...outer, ...env });
    return (JSON.parse(await lineWith(child, "pid")) as Told).regions;
  };

  it("is one region for all threads", async () => {
    expect(await regions({})).toBe("1");
  });

  it("is one region although the flags of V8 are given", () => {
    const [node = "", ...file] = fileCommand("node", "v8-heap-child.ts", []);
    const { MALLOC_ARENA_MAX: _, ...env } = process.env;
    const flags = [ALL_YOUNG, LIMIT, SLOW_GROWTH, COLLECTABLE];
    const { stdout } = spawnSync(node, [...flags, ...file], { env, encoding: "utf8" });
    expect((JSON.parse(stdout) as Told).regions).toBe("1");
  });

  it("is as whoever starts the server wants it", async () => {
    expect(await regions({ MALLOC_ARENA_MAX: "4" })).toBe("4");
  });
});

test("every start line of Deno keeps objects and the young generation as Node does by itself", () => {
  const option = `--v8-flags=${[ALL_YOUNG, LIMIT, COLLECTABLE].join(",")}`;
  for (const path of ["scripts/run.mjs", "deno.json", "docs/gateway/memory.md"])
    expect(readFileSync(`${root}${path}`, "utf8"), path).toContain(option);
});
