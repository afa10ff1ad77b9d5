import { defineConfig } from "vitest/config";
import { reporters, root } from "./shared.ts";

// The black-box tier: the tests run on Node, the server under test on what TARGET names.
export default defineConfig({
  root,
  test: {
    include: ["tests/http/**/*.test.ts", "tests/clients/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    globalSetup: ["tests/http/start-target.ts"],
    isolate: false,
    pool: "threads",
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: reporters(),
  },
});
