import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { bannerLines } from "../../adapters/cli/serve/banner.ts";
import { prepare } from "../../adapters/cli/serve/prepare.ts";
import { openDataDir } from "../../adapters/shared/data-dir.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "causey data dïr "));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("openDataDir()", () => {
  it("leaves the mode of a folder that was there, and keeps its own files private", async () => {
    const path = join(folder, "shared");
    mkdirSync(path);
    chmodSync(path, 0o777);
    const dir = openDataDir(path);
    expect(dir.hold()).toBe(true);
    const db = openSqlite(dir.database);
    await db.batch([{ sql: "CREATE TABLE t (a)" }]);
    expect(modeOf(path)).toBe(0o777);
    for (const file of ["causey.db", "causey.db-wal", "causey.db-shm", "lock.db"])
      expect([file, modeOf(join(path, file))]).toEqual([file, 0o600]);
    await db.close();
    dir.release();
  });

  it("says at once which folder cannot be used, and does not take that for another server", () => {
    const path = join(folder, "file");
    writeFileSync(path, "");
    expect(() => openDataDir(path)).toThrow(`The data directory "${path}" cannot be used`);
    const broken = join(folder, "broken");
    mkdirSync(broken);
    writeFileSync(join(broken, "lock.db"), "no database at all ".repeat(100));
    expect(() => openDataDir(broken).hold()).toThrow("cannot be used");
  });
});

describe("prepare()", () => {
  const noEnv = {};
  const flags = (name: string): Map<string, string> => new Map([["data-dir", join(folder, name)]]);

  it("makes the token once, and anew when a full disk left an empty file", () => {
    const first = prepare(flags("tokens"), noEnv);
    expect(first.token.created).toBe(true);
    const path = first.token.path ?? "";
    expect(modeOf(path)).toBe(0o600);
    chmodSync(path, 0o644);
    expect(prepare(flags("tokens"), noEnv).token).toEqual({ ...first.token, created: false });
    expect(modeOf(path)).toBe(0o600);
    writeFileSync(path, "");
    expect(prepare(flags("tokens"), noEnv).token.value).toMatch(/^causey_.{40}/u);
  });

  it.each(["short", "has a space in it, and more", "ümlaut-token-of-length"])(
    "refuses CAUSEY_TOKEN=%s",
    (token) => {
      const env = { CAUSEY_TOKEN: token };
      expect(() => prepare(flags("refused"), env)).toThrow("CAUSEY_TOKEN: expected 16 to 512");
    },
  );

  it("prints commands that a shell takes, whatever the folder is called", () => {
    const prepared = prepare(flags("it's here"), noEnv);
    const facts = {
      version: "1",
      runtime: "r",
      url: "http://127.0.0.1:1",
      browser: "b",
      consoleLink: null,
    };
    const lines = bannerLines(prepared, facts).join("\n");
    expect(lines).toContain(`$(cat '${folder}/it'\\''s here/token')`);
  });

  it.each([
    ["http://0.0.0.0:80", "http://127.0.0.1:80"],
    ["http://[::]:80", "http://[::1]:80"],
  ])("prints links that work for a server at %s", (url, link) => {
    const facts = { version: "1", runtime: "r", url, browser: "b", consoleLink: null };
    const lines = bannerLines(prepare(flags("everywhere"), noEnv), facts).join("\n");
    expect(lines).toContain(`Listening  ${link}  (API ${link}/client/v4), and at each other`);
    expect(lines).not.toContain(url);
  });
});
