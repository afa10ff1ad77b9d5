import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, inject, it } from "vitest";
import { writeArchive } from "../../../adapters/cli/backup/archive.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { host } from "../../config/shared.ts";
import { causey, causeyAll, seed, serve } from "./run-command.ts";

const fresh = (): string => join(inject("scratch"), `backup-${crypto.randomUUID()}`);

interface BackedUp {
  readonly folder: string;
  readonly file: string;
}

let firstBackup: Promise<BackedUp> | undefined;

/** A folder in which a server has run, and a backup of it: a copy for each test. */
async function backedUp(): Promise<BackedUp> {
  firstBackup ??= (async () => {
    const folder = fresh();
    const file = `${folder}.tar.gz`;
    const server = await serve(folder, ["--no-demo"]);
    await server.stop();
    const done = await causey(["backup", file, "--data-dir", folder]);
    expect(done).toMatchObject({ code: 0, err: "" });
    return { folder, file };
  })();
  const first = await firstBackup;
  const folder = fresh();
  cpSync(first.folder, folder, { recursive: true });
  cpSync(first.file, `${folder}.tar.gz`);
  return { folder, file: `${folder}.tar.gz` };
}

/** An archive with one byte changed, so that it matters: one in a thousand unpacks to what was packed. */
function damaged(archive: Buffer): Buffer {
  const whole = gunzipSync(archive);
  for (let at = Math.floor(archive.length / 2); at < archive.length - 8; at++) {
    const changed = Buffer.from(archive);
    changed.writeUInt8(changed.readUInt8(at) ^ 255, at);
    try {
      if (gunzipSync(changed).equals(whole)) continue;
    } catch {
      // As it should be.
    }
    return changed;
  }
  throw new Error("No byte of the archive matters");
}

/** Writes one event per number; each is acknowledged once it is stored. */
async function put(url: string, token: string, key: string): Promise<void> {
  const body = new FormData();
  body.set("file", new File([`The content of ${key}.`], `${key}.md`, { type: "text/markdown" }));
  const path = "client/v4/accounts/local/ai-search/namespaces/default/instances/demo/items";
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/${path}`, { method: "POST", headers, body });
  expect(response.status, await response.text()).toBeLessThan(300);
}

async function keys(url: string, token: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}` };
  const found: string[] = [];
  for (let page = 1; ; page++) {
    const path = `client/v4/accounts/local/ai-search/instances/demo/items?per_page=50&page=${page}`;
    const response = await fetch(`${url}/${path}`, { headers });
    const { result } = (await response.json()) as { result: { key: string }[] };
    found.push(...result.map(({ key }) => key));
    if (result.length < 50) return found.filter((key) => key.startsWith("note-"));
  }
}

describe(`causey backup and restore on ${host}`, () => {
  it("copy a server that is being written to, as it was at one moment", LONG, async () => {
    const folder = fresh();
    await seed(folder);
    const server = await serve(folder);
    const token = readFileSync(join(folder, "token"), "utf8").trim();
    await put(server.url, token, "note-before");
    const stop = new AbortController();
    let written = 0;
    const writer = (async () => {
      while (!stop.signal.aborted) await put(server.url, token, `note-${written++}`);
    })();
    await eventually(() => written > 2, "something is being written");
    const file = `${folder}.tar.gz`;
    const made = await causey(["backup", file, "--data-dir", folder, "--json"]);
    stop.abort();
    await writer;
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(made.out)).toMatchObject({ file, bytes: statSync(file).size });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = fresh();
    expect(await causey(["restore", file, "--data-dir", other])).toMatchObject({
      code: 0,
      err: "",
    });
    // The first one still runs: the two have nothing in common.
    const copy = await serve(other);
    const there = await keys(copy.url, token);
    expect(there).toContain("note-before.md");
    expect(await keys(server.url, token)).toEqual(expect.arrayContaining(there));
    await copy.stop();
    await server.stop();
    expect(
      readdirSync(join(folder, "..")).filter((name) => name.startsWith(".causey-backup")),
    ).toEqual([]);
  });

  it("write a gzipped tar that other tools read, without a secret in clear but the folder's own", async () => {
    const { file } = await backedUp();
    const { status, stdout } = spawnSync("tar", ["-tzf", file], { encoding: "utf8" });
    expect([status, stdout.trim().split("\n")]).toEqual([
      0,
      ["causey-backup.json", "causey.db", "token"],
    ]);
  });

  it("refuse what would overwrite something", async () => {
    const { folder, file } = await backedUp();
    expect(await causey(["backup", file, "--data-dir", folder])).toEqual({
      code: 1,
      out: "",
      err: `error: "${file}" is there already\nhint: Choose another name, or replace it with --force\n`,
    });
    const again = await causey(["restore", file, "--data-dir", folder]);
    expect(again).toMatchObject({ code: 1, out: "" });
    expect(again.err).toContain("is not empty");
    const done = await causey(["restore", file, "--data-dir", folder, "--force", "--json"]);
    expect(done).toMatchObject({ code: 0, err: "" });
    const { replaced } = JSON.parse(done.out) as { replaced: string };
    expect(readdirSync(replaced).toSorted()).toEqual(["causey.db", "token"]);
    expect(await causey(["backup", file, "--data-dir", folder, "--force"])).toMatchObject({
      code: 0,
    });
  });

  it("restore refuses the folder of a running server, also with --force", async () => {
    const { folder, file } = await backedUp();
    const server = await serve(folder, ["--no-demo"]);
    const refused = await causey(["restore", file, "--data-dir", folder, "--force"]);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(/^error: A server uses .*\nhint: Stop it first/u);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await server.stop();
  });

  it("restore leaves a folder as it was when the file is no whole backup", LONG, async () => {
    const { folder, file } = await backedUp();
    const before = readFileSync(join(folder, "causey.db"));
    const changed = `${file}.changed`;
    const bytes = readFileSync(file);
    const work = fresh();
    mkdirSync(work);
    writeFileSync(join(work, "evil"), "x");
    const foreign = join(work, "foreign.tar.gz");
    await writeArchive(foreign, [{ name: "../../evil", path: join(work, "evil") }]);
    const empty = join(work, "empty.tar.gz");
    await writeArchive(empty, []);
    const cut = join(work, "cut.tar.gz");
    writeFileSync(cut, bytes);
    truncateSync(cut, Math.floor(bytes.length / 2));
    writeFileSync(changed, damaged(bytes));
    // The last eight bytes are the checksum and the length.
    const summed = join(work, "summed.tar.gz");
    const other = readFileSync(file);
    other.writeUInt8(other.readUInt8(other.length - 8) ^ 255, other.length - 8);
    writeFileSync(summed, other);
    const text = join(work, "text");
    writeFileSync(text, "This is a text.");
    const wrong = [
      [foreign, 'This is not a backup of causey: it holds "../../evil"'],
      [empty, "This is not a backup of causey: it is incomplete"],
      [cut, "This is not a backup of causey"],
      [changed, "backup"],
      [summed, "This is not a backup of causey"],
      [text, "This is not a backup of causey"],
      [join(work, "nowhere"), "There is no file"],
    ] as const;
    const answers = await causeyAll(
      wrong.map(([name]) => ["restore", name, "--data-dir", folder, "--force"]),
    );
    expect(answers.map(({ code, err }) => [code, err])).toEqual(
      wrong.map(([, message]) => [1, expect.stringContaining(message)]),
    );
    expect(readFileSync(join(folder, "causey.db")).equals(before)).toBe(true);
    expect(readdirSync(folder).filter((one) => /restore/u.test(one))).toEqual([]);
    expect(existsSync(join(work, "..", "..", "evil"))).toBe(false);
  });

  it("restore refuses what a newer version wrote, before anything is replaced", LONG, async () => {
    const { folder, file } = await backedUp();
    const before = readFileSync(join(folder, "causey.db"));
    const work = fresh();
    mkdirSync(work);
    spawnSync("tar", ["-xzf", file, "-C", work]);
    const path = join(work, "causey-backup.json");
    const manifest = JSON.parse(readFileSync(path, "utf8")) as { version: string };
    const [major = 0, minor = 0, patch = 0] = manifest.version.split(".").map(Number);
    for (const [version, code] of [
      [`${major}.${minor}.${patch + 1}`, 1],
      [`${major + 1}.0.0`, 1],
      [`${manifest.version}-rc.1`, 0],
    ] as const) {
      writeFileSync(path, JSON.stringify({ ...manifest, version }));
      const changed = join(work, `${version}.tar.gz`);
      await writeArchive(
        changed,
        ["causey-backup.json", "causey.db", "token"].map((name) => ({
          name,
          path: join(work, name),
        })),
      );
      const done = await causey(["restore", changed, "--data-dir", folder, "--force"]);
      expect([version, done.code]).toEqual([version, code]);
      if (code === 0) continue;
      expect(done.err).toMatch(/^error: .*written by causey .*newer.*\nhint: Restore it with/u);
      expect(readFileSync(join(folder, "causey.db")).equals(before)).toBe(true);
    }
  });

  it("say how they are called", async () => {
    const [help, none, wrong, nothing] = await causeyAll([
      ["backup", "--help"],
      ["backup"],
      ["restore", "a", "--forse"],
      ["backup", `${fresh()}.gz`, "--data-dir", fresh()],
    ]);
    expect(help?.out).toContain("Usage: causey backup FILE");
    expect([none?.code, none?.err]).toEqual([
      2,
      expect.stringContaining("needs the one name of a file"),
    ]);
    expect([wrong?.code, wrong?.err]).toEqual([
      2,
      'error: Unknown option "--forse": did you mean "force"?\n',
    ]);
    expect([nothing?.code, nothing?.err]).toEqual([
      1,
      expect.stringContaining("There is nothing to back up"),
    ]);
  });
});
