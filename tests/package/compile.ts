import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../config/shared.ts";
import type { Packed } from "./packed.ts";

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: false,
  target: "es2022",
  lib: ["ES2022"],
};

/** A folder with the package and what it depends on installed, but nobody's types. */
export function emptyProject(packed: Packed, name: string): string {
  const folder = join(packed.folder, "types", name);
  const installed = join(folder, "node_modules");
  mkdirSync(join(installed, "@types"), { recursive: true });
  for (const one of readdirSync(join(packed.project, "node_modules")))
    if (!one.startsWith("@types") && one !== "causey" && one !== "undici-types")
      symlinkSync(join(root, "node_modules", one), join(installed, one), "junction");
  cpSync(join(packed.project, "node_modules/causey"), join(installed, "causey"), {
    recursive: true,
  });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  return folder;
}

/** What the compiler says of some sources, by their names, in the folder of a project. */
export function compile(
  folder: string,
  sources: Readonly<Record<string, string>>,
  compilerOptions: object,
): string {
  for (const [name, source] of Object.entries(sources)) writeFileSync(join(folder, name), source);
  const files = Object.keys(sources);
  const config = { compilerOptions: { ...strict, ...compilerOptions }, files };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  const { stdout } = spawnSync(
    process.execPath,
    [tsc, "-p", ".", "--pretty", "false", "--singleThreaded"],
    { cwd: folder, encoding: "utf8" },
  );
  return stdout;
}
