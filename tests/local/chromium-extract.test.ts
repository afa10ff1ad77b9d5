import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { brotliCompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { extractChromium } from "../../adapters/shared/chromium/chromium-extract.ts";

let folder: string;
let parent: string;
let fresh: string;
const final = (): string => join(parent, `1-${process.arch}`);

/** Makes the folder of a process that has begun to unpack, and has last written `agoMs` ago. */
async function begun(agoMs: number): Promise<void> {
  fresh = join(parent, ".new-1-other");
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  await writeFile(join(fresh, "chromium"), "theirs");
  const at = new Date(Date.now() - agoMs);
  for (const path of [join(fresh, "chromium"), fresh]) await utimes(path, at, at);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "causey-extract-"));
  parent = join(folder, "state/chromium");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("a process that unpacks the browser is waited for", async () => {
  await begun(-4000);
  // There is nothing to unpack: attempts fail.
  const nothing = { packed: join(folder, "none"), version: "1" };
  const unpacked = extractChromium(nothing, join(folder, "state"));
  unpacked.catch(() => undefined);
  for (let n = 0; n < 5; n++)
    await expect(extractChromium(nothing, join(folder, `other-${n}`))).rejects.toThrow("ENOENT");
  await rename(fresh, final());
  await expect(unpacked).resolves.toBe(final());
  await expect(readFile(join(final(), "chromium"), "utf8")).resolves.toBe("theirs");
  await expect(readdir(parent)).resolves.toEqual([`1-${process.arch}`]);
});

test("a process that has stopped while it unpacked is not waited for", async () => {
  await begun(60_000);
  for (const [name, text] of [
    ["chromium.br", "ours"],
    ["al2023.tar.br", ""],
    ["fonts.tar.br", ""],
  ] as const)
    await writeFile(join(folder, name), brotliCompressSync(text));
  await expect(
    extractChromium({ packed: folder, version: "1" }, join(folder, "state")),
  ).resolves.toBe(final());
  await expect(readFile(join(final(), "chromium"), "utf8")).resolves.toBe("ours");
});
