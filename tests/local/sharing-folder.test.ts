import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { openDataDir } from "../../adapters/shared/data-dir.ts";
import { makeAddress, readAddress } from "../../adapters/processes/address.ts";
import type { SharedActors, SharedActorsOptions } from "../../adapters/processes/owned-actors.ts";
import type { ActorKind } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";
import { closeShared, openShared } from "./open-shared.ts";

let open: SharedActors[] = [];
afterEach(async () => {
  for (const actors of open.toReversed()) await closeShared(actors);
  open = [];
});

interface Opened {
  readonly actors: SharedActors;
  readonly logged: string[];
  whoAnswers(): Promise<unknown>;
}

/** Opens the actors of a folder, with one that says who its process is. */
async function start(
  path: string,
  who: string,
  options: Partial<SharedActorsOptions> = {},
): Promise<Opened> {
  const logged: string[] = [];
  const actors = await openShared(
    path,
    (level, message, fields) => logged.push(`${level}: ${message} ${String(fields?.["error"])}`),
    options,
  );
  open.push(actors);
  const kind: ActorKind = {
    name: "who",
    schema: [],
    start: () => ({ methods: { who: () => who } }),
  };
  actors.define(kind);
  return { actors, logged, whoAnswers: () => actors.get("who", "one").call("who") };
}

const close = async (actors: SharedActors): Promise<void> => {
  open = open.filter((one) => one !== actors);
  await closeShared(actors);
};

const folder = (): string => join(mkdtempSync(join(inject("scratch"), "folder-")), "data");

describe("a data directory", () => {
  it("that was replaced by another one gets no second owner from among the peers of the former", async () => {
    const path = folder();
    const former = await start(path, "former");
    const peer = await start(path, "peer");
    expect(await peer.whoAnswers()).toBe("former");
    renameSync(path, `${path}.old`);
    const next = await start(path, "next");
    expect([await next.whoAnswers(), await peer.whoAnswers()]).toEqual(["next", "former"]);
    await close(former.actors);
    expect(await peer.whoAnswers()).toBe("next");
    await close(next.actors);
    expect(await peer.whoAnswers()).toBe("peer");
    const other = openDataDir(path);
    expect(other.hold()).toBe(false);
    other.release();
  });

  it("that is moved away or deleted is missed at once, once, and taken over when it is back", async () => {
    const path = folder();
    const owner = await start(path, "holder", { watchMs: 10 });
    const peer = await start(path, "peer");
    renameSync(path, `${path}.away`);
    const gone = "error: The lock of the data directory is no longer at its path";
    await eventually(() => owner.logged.some((line) => line.startsWith(gone)), "it says so");
    writeFileSync(path, "no folder any more");
    await close(owner.actors);
    const called = peer.whoAnswers();
    const failed = "error: The data directory cannot be taken over";
    await eventually(() => peer.logged.some((line) => line.startsWith(failed)), "it says so too");
    rmSync(path);
    renameSync(`${path}.away`, path);
    expect(await called).toBe("peer");
    expect(owner.logged.filter((line) => line.startsWith(gone))).toHaveLength(1);
    expect(peer.logged.filter((line) => line.startsWith(failed))).toEqual([
      `${failed} Error: The data directory "${path}" cannot be used (${join(path, "lock.db")} is gone): choose another with --data-dir`,
    ]);
  });

  it("whose lock was deleted gets no second owner while the first one lives", async () => {
    const path = folder();
    const owner = await start(path, "holder");
    const peer = await start(path, "peer");
    expect(await peer.whoAnswers()).toBe("holder");
    rmSync(join(path, "lock.db"));
    const late = await start(path, "late");
    expect([await late.whoAnswers(), await peer.whoAnswers()]).toEqual(["holder", "holder"]);
    await close(owner.actors);
    const [one, other] = [await late.whoAnswers(), await peer.whoAnswers()];
    expect(one).toBe(other);
    expect(["peer", "late"]).toContain(one);
  });

  it("in which the way to others cannot be told is shared once it can, and nothing is left of the attempts", async () => {
    const path = folder();
    mkdirSync(join(path, "holder", "foreign"), { recursive: true });
    const owner = await start(path, "holder");
    const line = "warn: No other process can share the data directory";
    await eventually(() => owner.logged.some((one) => one.startsWith(line)), "it says so");
    expect(await owner.whoAnswers()).toBe("holder");
    const late = start(path, "peer");
    rmSync(join(path, "holder"), { recursive: true });
    expect(await (await late).whoAnswers()).toBe("holder");
    expect(owner.logged).toHaveLength(1);
    expect(readdirSync(path).filter((name) => name.startsWith("holder"))).toHaveLength(2);
  });

  it("may hold foreign files, which stay", async () => {
    const path = folder();
    mkdirSync(join(path, "holder-notes"), { recursive: true });
    writeFileSync(join(path, "holder-notes", "socket"), "mine");
    writeFileSync(join(path, "holder.backup"), "mine");
    const owner = await start(path, "holder");
    const peer = await start(path, "peer");
    expect(await peer.whoAnswers()).toBe("holder");
    await close(peer.actors);
    await close(owner.actors);
    const left = ["holder-notes/socket", "holder.backup"].map((name) =>
      existsSync(join(path, name)),
    );
    expect(left).toEqual([true, true]);
  });
});

describe("makeAddress()", () => {
  it("finds a folder whose path is short enough, whatever TMPDIR is", () => {
    const long = join(mkdtempSync(join(inject("scratch"), "address-")), "d".repeat(120));
    mkdirSync(long);
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = long;
    try {
      const address = makeAddress(long);
      expect(address.socket).toMatch(/^\/tmp\/causey-holder-\w+\/socket$/u);
      address.remove();
      expect(readAddress(long)).toBeNull();
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  });
});
