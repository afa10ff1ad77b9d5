import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { packClone, type Packed } from "./packed.ts";

let packed: Packed;
beforeAll(() => {
  packed = packClone();
}, LONG.timeout);
afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

const nodes = `${root}tools/releases/node_modules`;
const types = [
  ["20", `${nodes}/types20`],
  ["22", `${nodes}/types22`],
  ["24", `${root}node_modules/@types/node`],
  ["26", `${nodes}/types26`],
] as const;
const resolutions = [
  ["node16", "node16"],
  ["nodenext", "nodenext"],
  ["bundler", "esnext"],
] as const;
const entries = ["", "/gateway", "/rendering", "/search", "/agents", "/webhooks", "/deprecations"];

/** A strict project that uses every entry with some release of Node's types; what the compiler says of it. */
function check(name: string, source: string, more: object): string {
  const folder = join(packed.folder, "types", name);
  mkdirSync(folder, { recursive: true });
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    target: "es2022",
    lib: ["ES2022"],
    types: ["node"],
    typeRoots: [join(folder, "node_modules/@types")],
  };
  const installed = join(folder, "node_modules");
  mkdirSync(join(installed, "@types"), { recursive: true });
  for (const one of readdirSync(join(packed.project, "node_modules")))
    if (!one.startsWith("@types") && one !== "causey" && one !== "undici-types")
      symlinkSync(join(root, "node_modules", one), join(installed, one), "junction");
  cpSync(join(packed.project, "node_modules/causey"), join(installed, "causey"), {
    recursive: true,
  });
  cpSync(source, join(installed, "@types/node"), { recursive: true });
  // What these types import; beside them in the folder that they were installed in.
  const undici = join(source, "../undici-types");
  const own = join(source, "node_modules/undici-types");
  const beside = source.includes("@types") ? join(root, "node_modules/undici-types") : undici;
  cpSync(
    readdirSync(source).includes("node_modules") ? own : beside,
    join(installed, "undici-types"),
    { recursive: true },
  );
  const lines = [...entries, "/node"].map(
    (entry, at) => `export * as e${at} from "causey${entry}";`,
  );
  writeFileSync(join(folder, "main.ts"), lines.join("\n"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...more }, files: ["main.ts"] }),
  );
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", ".", "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  return stdout;
}

test.each(types)(
  "the declarations are clean with the types of Node %s",
  LONG,
  (release, source) => {
    for (const [moduleResolution, module] of resolutions) {
      const said = check(`${release}-${moduleResolution}`, source, { module, moduleResolution });
      expect(said, moduleResolution).toBe("");
    }
  },
);
