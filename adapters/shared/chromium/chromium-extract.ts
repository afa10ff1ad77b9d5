import { createReadStream, createWriteStream } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliDecompress, createBrotliDecompress } from "node:zlib";

/** The browser that comes from npm, as packed files. */
export interface PackedChromium {
  /** The folder with the `.br` files. */
  readonly packed: string;
  /** The version of the package. */
  readonly version: string;
}

/** The beginning of the names of folders that are being written. */
const FRESH = ".new-";
/** How long a process that unpacks may write nothing, and the time between two looks at it, in ms. */
const STILL_MS = 5000;
const LOOK_MS = 100;

/** Finds the optional package `@sparticuz/chromium`, a headless shell in npm form; null when it is not installed. */
export async function findPackedChromium(): Promise<PackedChromium | null> {
  if (process.platform !== "linux") return null;
  try {
    const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
    const root = join(dirname(entry), "..");
    const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const version =
      manifest !== null && typeof manifest === "object" && "version" in manifest
        ? String(manifest.version)
        : "0";
    return { packed: join(root, "bin"), version: version.replaceAll(/[^\w.-]/gu, "_") };
  } catch {
    return null;
  }
}

/**
 * Unpacks the npm browser once per version below `stateDir` and returns the folder. The package's own way
 * uses fixed names in the shared temporary folder, where anyone could have planted a file: here everything
 * is written into a fresh private folder that is then renamed, so a half-written browser is never seen and
 * two servers that start at once do not disturb each other. It waits for a process that is unpacking already: a server's
 * first page would else leave it with 15 MB that unpacking takes, while the process of its first start unpacks too.
 */
export async function extractChromium(chromium: PackedChromium, stateDir: string): Promise<string> {
  const parent = join(stateDir, "chromium");
  const final = join(parent, `${chromium.version}-${process.arch}`);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  while (!(await isPrivate(final)) && (await isUnpacking(parent))) await sleep(LOOK_MS);
  if (await isPrivate(final)) return final;
  const fresh = join(parent, `${FRESH}${process.pid}-${crypto.randomUUID()}`);
  await mkdir(fresh, { mode: 0o700 });
  try {
    await Promise.all([
      unpackBinary(join(chromium.packed, "chromium.br"), join(fresh, "chromium")),
      unpackTar(join(chromium.packed, "al2023.tar.br"), join(fresh, "lib")),
      unpackTar(join(chromium.packed, "fonts.tar.br"), join(fresh, "fonts")),
    ]);
    await writeFile(join(fresh, "fonts.conf"), fontsConf(final));
    await rename(fresh, final).catch(async (error: unknown) => {
      // Another server was first: its folder is as good as ours.
      if (!(await isPrivate(final))) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return final;
}

/** Whether a process is writing into a fresh folder. One that was killed has left its folder as it was. */
async function isUnpacking(parent: string): Promise<boolean> {
  const folders = (await readdir(parent)).filter((name) => name.startsWith(FRESH));
  const paths = folders.flatMap((name) => [join(parent, name), join(parent, name, "chromium")]);
  const stats = await Promise.all(paths.map((path) => lstat(path).catch(() => null)));
  return stats.some((stat) => stat !== null && Math.abs(Date.now() - stat.mtimeMs) < STILL_MS);
}

/** Whether a path is a real folder to which only this user may write. */
async function isPrivate(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => null);
  if (stat === null || !stat.isDirectory()) return false;
  const uid = process.getuid?.();
  return (uid === undefined || stat.uid === uid) && (stat.mode & 0o022) === 0;
}

async function unpackBinary(from: string, to: string): Promise<void> {
  await pipeline(
    createReadStream(from),
    createBrotliDecompress(),
    createWriteStream(to, { mode: 0o700 }),
  );
  await chmod(to, 0o700);
}

/** Unpacks the regular files of a small tar archive, without their folders. */
async function unpackTar(from: string, to: string): Promise<void> {
  const packed = await readFile(from);
  const tar = await new Promise<Buffer>((resolve, reject) => {
    brotliDecompress(packed, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
  await mkdir(to, { mode: 0o700 });
  for (let at = 0; at + 512 <= tar.length;) {
    const name = tar.toString("latin1", at, at + 100).replace(/\0.*$/su, "");
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 136), 8) || 0;
    const kind = tar.toString("latin1", at + 156, at + 157);
    if (name === "") break;
    const regular = kind === "0" || kind === "\0";
    if (regular)
      await writeFile(join(to, basename(name)), tar.subarray(at + 512, at + 512 + size), {
        mode: 0o700,
      });
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

/** Writes a configuration of the system's fonts, if any, and the packed ones, so that a bare machine prints text too. */
function fontsConf(folder: string): string {
  const text = (path: string): string => path.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>/usr/share/fonts</dir>
  <dir>${text(join(folder, "fonts"))}</dir>
  <cachedir>${text(join(folder, "fonts-cache"))}</cachedir>
</fontconfig>
`;
}
