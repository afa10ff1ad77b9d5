import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { causey, type Output } from "../local/command/run-command.ts";
import { exitOf, type LocalRuntimeName, startCommand } from "../local/runtimes.ts";
import { targetName } from "./target.ts";

const url = inject("baseUrl");
const target = targetName();
// The command runs where the server does; there is none on Workers.
const runtime: LocalRuntimeName = target === "workers" ? "node" : target;
const env = { CAUSEY_TOKEN: inject("token"), CAUSEY_ACCOUNT_ID: inject("accountId") };
const root = mkdtempSync(join(tmpdir(), "causey-sync-"));
const name = `sync-${randomUUID().slice(0, 8)}`;

function run(...args: string[]): Promise<Output> {
  return causey(["search", ...args, "--url", url], env, runtime);
}

function sync(...args: string[]): Promise<Output> {
  return run("sync", name, root, ...args);
}

function put(path: string, text: string | Uint8Array): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** The keys of all items, with their checksums. */
async function items(): Promise<Map<string, string>> {
  const { out } = await run("items", name, "--limit", "100", "--json");
  const rows = out.split("\n").filter((line) => line !== "");
  return new Map(
    rows.map((line) => {
      const { key, checksum } = JSON.parse(line) as { key: string; checksum: string };
      return [key, checksum];
    }),
  );
}

beforeAll(async () => {
  expect((await run("create", name)).code).toBe(0);
});
afterAll(async () => {
  await run("delete", name);
  rmSync(root, { recursive: true, force: true });
});

describe(`causey search sync against ${target}`, LONG, () => {
  it("says what of a file was not read, of an upload, of a sync and in the list", async () => {
    const lack = /not JSON/u;
    put("rows.jsonl", '{"a":1}\n{"b":\n');
    expect((await run("upload", name, join(root, "rows.jsonl"))).err).toMatch(lack);
    expect((await run("items", name)).out).toMatch(lack);
    put("rows.jsonl", '{"a":2}\n{"b":\n');
    expect((await sync()).err).toMatch(lack);
    rmSync(join(root, "rows.jsonl"));
    put("ferry.md", "Here.");
    expect((await sync("--delete")).err).toContain("1 deleted");
    rmSync(join(root, "ferry.md"));
  });

  it("uploads what is new or changed, and nothing that ignore files name", async () => {
    put("ferry.md", "# Ferry\n\nThe ferry leaves at noon.");
    put("deep/bread.md", "# Bread\n\nKnead the dough.");
    put("deep/draft.md", "# Draft\n\nNot yet.");
    put("deep/keep.log", "Kept although logs are not.");
    put("noise.log", "Not this one.");
    put("build/out.md", "Made by a machine.");
    put(".secret.md", "Nobody is to see this.");
    put("logo.md", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]));
    put(".gitignore", "*.log\nbuild/\n");
    put("deep/.causeyignore", "draft.md\n!keep.log\n");
    const first = await sync("--wait");
    expect([first.code, first.out]).toEqual([0, ""]);
    expect(first.err).toContain(
      "Synced: 3 uploaded, 0 unchanged, 0 deleted, 1 left out, 0 failed\n",
    );
    expect(first.err).toMatch(/ {2}logo\.md: .*is a picture/u);
    const before = await items();
    expect([...before.keys()].toSorted()).toEqual(["deep/bread.md", "deep/keep.log", "ferry.md"]);
    put("ferry.md", "# Ferry\n\nThe ferry leaves at one.");
    const second = await sync("--json");
    const lines = second.out.trim().split("\n");
    const rows = lines.map((line) => JSON.parse(line) as unknown);
    expect(rows).toHaveLength(3);
    expect(rows).toContainEqual({ key: "ferry.md", action: "uploaded" });
    expect(rows).toContainEqual(expect.objectContaining({ key: "logo.md", action: "left_out" }));
    expect(rows[2]).toEqual({
      uploaded: 1,
      unchanged: 2,
      deleted: 0,
      left_out: 1,
      failed: 0,
      without_file: 0,
    });
    const after = await items();
    expect(after.get("ferry.md")).not.toBe(before.get("ferry.md"));
    expect(after.get("deep/bread.md")).toBe(before.get("deep/bread.md"));
  });

  it("deletes what has no file any more only when it is told to, and only below its prefix", async () => {
    rmSync(join(root, "deep/bread.md"));
    const kept = await sync();
    expect(kept.err).toContain("1 item has no file any more: --delete deletes it\n");
    expect((await items()).has("deep/bread.md")).toBe(true);
    expect((await sync("--prefix", "other/", "--delete")).code).toBe(0);
    expect([...(await items()).keys()].toSorted()).toEqual([
      "deep/bread.md",
      "deep/keep.log",
      "ferry.md",
      "other/deep/keep.log",
      "other/ferry.md",
    ]);
    expect((await sync("--delete")).err).toContain("3 deleted");
    expect([...(await items()).keys()].toSorted()).toEqual(["deep/keep.log", "ferry.md"]);
  });

  it("deletes nothing for a folder that is empty, and needs one", async () => {
    const empty = mkdtempSync(join(tmpdir(), "causey-sync-empty-"));
    try {
      const { code, err } = await run("sync", name, empty, "--delete");
      expect([code, err]).toEqual([1, `error: There are no files in "${empty}"\n`]);
    } finally {
      rmSync(empty, { recursive: true, force: true });
    }
    expect((await items()).size).toBe(2);
    const wrong = await run("sync", name, join(root, "ferry.md"));
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("There is no folder")]);
    for (const [args, message] of [
      [["sync", name], "search sync needs a folder"],
      [["sync", name, root, root], "search sync needs one folder"],
      [["list", "--watch"], "search list has no option --watch"],
      [["sync", name, root, "--watch", "--wait"], "--watch never ends: leave out --wait"],
    ] as const) {
      const { code, err } = await run(...args);
      expect([code, err]).toEqual([2, `error: ${message}\n`]);
    }
  });

  it("follows a folder until it is ended", async () => {
    const child = startCommand(
      runtime,
      ["search", "sync", name, root, "--watch", "--delete", "--url", url],
      env,
    );
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await eventually(() => said.includes("Watching"), "the watch");
    put("new.md", "# New\n\nJust written.");
    rmSync(join(root, "deep"), { recursive: true });
    await eventually(() => said.includes("1 deleted"), "the deletion");
    await eventually(() => /1 uploaded.*\n/u.test(said), "the upload");
    const ended = exitOf(child);
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect([...(await items()).keys()].toSorted()).toEqual(["ferry.md", "new.md"]);
  });

  it("goes on where a killed run was", async () => {
    const many = mkdtempSync(join(tmpdir(), "causey-sync-many-"));
    try {
      for (let n = 0; n < 60; n++) writeFileSync(join(many, `${n}.md`), `Document number ${n}.`);
      const args = ["search", "sync", name, many, "--prefix", "many/", "--url", url];
      const child = startCommand(runtime, args, env);
      const ended = exitOf(child);
      await eventually(async () => (await items()).size > 2, "the first uploads");
      child.kill("SIGKILL");
      await ended;
      const { out } = await run("sync", name, many, "--prefix", "many/", "--delete", "--json");
      const counts = JSON.parse(out.trim().split("\n").at(-1) ?? "") as Record<string, number>;
      expect(counts["unchanged"]).toBeGreaterThan(0);
      expect((counts["unchanged"] ?? 0) + (counts["uploaded"] ?? 0)).toBe(60);
      const keys = [...(await items()).keys()];
      expect(keys.filter((key) => key.startsWith("many/"))).toHaveLength(60);
    } finally {
      rmSync(many, { recursive: true, force: true });
    }
  });
});
