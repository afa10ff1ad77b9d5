import { defineConfig } from "vitest/config";
import { mutants } from "./mutants.ts";
import { aliases, localTests, portableTests, root } from "./shared.ts";

const mutant = mutants[Number(process.env["CAUSEY_MUTANT"])];
// A server that a test starts refuses variables that it does not know: each mutant would be found.
delete process.env["CAUSEY_MUTANT"];
if (mutant === undefined) throw new Error("CAUSEY_MUTANT: expected the index of a mutant");
const { file, find, replace } = mutant;

// The unit suites on Node over sources of which one is changed as it is loaded; no file is written.
export default defineConfig({
  root,
  resolve: { alias: aliases("node") },
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform(code, id) {
        if (id !== `${root}${file}`) return null;
        if (code.split(find).length !== 2) throw new Error(`${file} does not hold "${find}" once`);
        return { code: code.replace(find, () => replace), map: null };
      },
    },
  ],
  test: {
    include: [...portableTests, ...localTests],
    globalSetup: "tests/config/global-setup.ts",
    setupFiles: "tests/config/fast-check.ts",
    env: { CAUSEY_RUNTIME: "node" },
    isolate: false,
    pool: "threads",
    // What vitest keeps of a file does not tell one mutant from another.
    fsModuleCache: false,
    bail: 1,
    // A mutant whose tests are not of these suites is one that nothing finds.
    passWithNoTests: true,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["minimal"],
  },
});
