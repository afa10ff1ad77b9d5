import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { compile, emptyProject } from "./compile.ts";
import { packClone, type Packed } from "./packed.ts";

let packed: Packed;
beforeAll(() => {
  packed = packClone();
}, LONG.timeout);
afterAll(() => rmSync(packed.folder, { recursive: true, force: true }), LONG.timeout);

const nodes = `${root}tools/releases/node_modules`;
const nodeTypes = [
  ["20", `${nodes}/types20`],
  ["22", `${nodes}/types22`],
  ["24", `${root}node_modules/@types/node`],
  ["26", `${nodes}/types26`],
] as const;
const NODE_NEXT = ["nodenext", "nodenext"] as const;
const BUNDLER = ["bundler", "esnext"] as const;
const entries = [
  "",
  "/gateway",
  "/rendering",
  "/search",
  "/agents",
  "/webhooks",
  "/deprecations",
  "/memory",
];

/** Uses every entry with some release of Node's types. */
function checkOnNode(name: string, source: string, more: object): string {
  const folder = emptyProject(packed, name);
  const installed = join(folder, "node_modules");
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
  const typeRoots = [join(installed, "@types")];
  return compile(folder, { "main.ts": lines.join("\n") }, { types: ["node"], typeRoots, ...more });
}

/** A Worker whose bindings have the types that `wrangler types` writes. */
const WORKER = `
import { CauseyObject, fromEnv, worker, workersPlatform, type WorkerEnv } from "causey/workers";
export { CauseyObject };

interface Env extends WorkerEnv {
  readonly CAUSEY: DurableObjectNamespace<CauseyObject>;
  readonly BROWSER: Fetcher;
  readonly CAUSEY_EGRESS: Fetcher;
}
export default worker(fromEnv) satisfies ExportedHandler<Env>;
export const platform = (env: Env) => workersPlatform({ env });
export const close = (env: Env) => env.CAUSEY.getByName("a").closeSockets(1000, "");
`;

test.each(nodeTypes)(
  "the declarations are clean with the types of Node %s",
  LONG,
  (release, source) => {
    // What a resolution finds depends on the package, not on the release: both with the one that is developed with. That
    // "node16" finds the same is a check of `attw`.
    for (const [moduleResolution, module] of release === "24"
      ? [NODE_NEXT, BUNDLER]
      : [NODE_NEXT]) {
      const said = checkOnNode(`${release}-${moduleResolution}`, source, {
        module,
        moduleResolution,
      });
      expect(said, moduleResolution).toBe("");
    }
  },
);

test(
  "the Worker's declarations are clean with the types of workerd, and fit into them",
  LONG,
  () => {
    const folder = emptyProject(packed, "workers");
    // Wrangler bundles a Worker.
    const [moduleResolution, module] = BUNDLER;
    const types = ["@cloudflare/workers-types"];
    const said = compile(folder, { "main.ts": WORKER }, { types, module, moduleResolution });
    expect(said).toBe("");
  },
);
