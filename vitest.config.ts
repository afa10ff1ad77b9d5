import { configDefaults, defineConfig } from "vitest/config";
import {
  aliases,
  everyRuntimeTests,
  host,
  leftOut,
  limits,
  localTests,
  portableTests,
  reporters,
  root,
} from "./tests/config/shared.ts";

// Vite always adds the "node" condition for server code. Packages with their own entry for Deno or
// Bun would then be tested in their Node form, so the running runtime's condition goes first.
const conditions = [...(host === "node" ? [] : [host]), "node", "module", "import", "default"];

export default defineConfig({
  root,
  resolve: { alias: aliases(host), conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    ...limits,
    include: [...portableTests, ...localTests],
    exclude: [...configDefaults.exclude, ...everyRuntimeTests, ...leftOut(host)],
    globalSetup: "tests/config/global-setup.ts",
    setupFiles: ["tests/config/fast-check.ts", "tests/config/record-sql.ts"],
    env: { CAUSEY_RUNTIME: host },
    // No test changes globals, so files share one module graph: several times faster.
    isolate: false,
    // Deno cannot end vitest's worker threads, Bun cannot start its forked processes.
    pool: host === "deno" ? "forks" : "threads",
    reporters: reporters(),
    // On demand: `npm run test:node -- --coverage`.
    coverage: {
      include: ["core/**/*.ts", "adapters/**/*.ts"],
      reporter: ["text-summary", "html"],
      reportsDirectory: "coverage",
    },
  },
});
