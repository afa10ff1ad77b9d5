import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { configDefaults, defineConfig } from "vitest/config";
import { browserSocket } from "./browser-setup.ts";
import { aliases, leftOut, limits, portableTests, reporters, root } from "./shared.ts";

export default defineConfig({
  root,
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./tests/platform/wrangler.jsonc" },
      // What serve:workers binds too; these have no form in a Wrangler configuration.
      miniflare: {
        serviceBindings: {
          BROWSER: { external: { address: `unix:${browserSocket}`, http: {} } },
          CAUSEY_EGRESS: { network: { allow: ["public"] } },
        },
      },
    }),
  ],
  resolve: { alias: aliases("workers") },
  test: {
    ...limits,
    include: [...portableTests, "tests/workers/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...leftOut("workers")],
    globalSetup: ["tests/config/global-setup.ts", "tests/config/browser-setup.ts"],
    setupFiles: "tests/config/fast-check.ts",
    env: { CAUSEY_RUNTIME: "workers" },
    isolate: false,
    // One isolate with one module graph: workerd is started once, not per file.
    maxWorkers: 1,
    reporters: reporters(),
  },
});
