import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { inject } from "vitest";
import { root } from "../config/shared.ts";

/** Never part of a clone; dependencies are linked instead. */
const OUTSIDE = new Set([".causey", ".git", "dist", "node_modules"]);

/** The package as `npm pack` makes it in a clone where nothing was built, and a project that has it installed. */
export interface Packed {
  /** The folder of all that, for the caller to remove. */
  readonly folder: string;
  /** The paths of the tarball's files. */
  readonly files: readonly string[];
  /** The bytes of these files. */
  readonly unpackedBytes: number;
  /** The path of the tarball. */
  readonly tarball: string;
  /** A project with the package and what it depends on in its `node_modules`. */
  readonly project: string;
}

/** Copies what git holds of this clone. Another step of the run may pack beside it: a tarball comes and goes. */
export function cloneTo(folder: string): void {
  const isInside = (path: string): boolean =>
    !OUTSIDE.has(basename(path)) && !path.endsWith(".tgz");
  cpSync(root, folder, { recursive: true, filter: isInside });
}

interface Tarball extends Pick<Packed, "files" | "unpackedBytes"> {
  readonly path: string;
}

let made: Tarball | undefined;

/** Packs a copy of this clone, once for all files of a run: it builds the package. */
function tarball(): Tarball {
  if (made !== undefined) return made;
  const folder = mkdtempSync(join(inject("scratch"), "pack-"));
  const clone = join(folder, "clone");
  cloneTo(clone);
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"), "junction");
  const packed = command(clone, "npm", "pack", "--json", "--pack-destination", folder);
  const report: unknown = JSON.parse(packed.slice(packed.indexOf("[\n")));
  const [{ filename, files, unpackedSize }] = report as [
    { filename: string; files: { path: string }[]; unpackedSize: number },
  ];
  made = {
    path: join(folder, filename),
    files: files.map(({ path: file }) => file),
    unpackedBytes: unpackedSize,
  };
  return made;
}

/** Packs a copy of this clone and installs it in a project of the caller's own. */
export function packClone(): Packed {
  const { path, files, unpackedBytes } = tarball();
  const folder = mkdtempSync(join(tmpdir(), "causey-packed-"));
  const project = join(folder, "project");
  const installed = join(project, "node_modules");
  mkdirSync(installed, { recursive: true });
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith("."))
      symlinkSync(join(root, "node_modules", name), join(installed, name), "junction");
  command(folder, "tar", "-xzf", path);
  cpSync(join(folder, "package"), join(installed, "causey"), { recursive: true });
  return { folder, files, unpackedBytes, tarball: path, project };
}

function command(cwd: string, file: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(file, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${file} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}
