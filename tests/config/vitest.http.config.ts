import { defineConfig } from "vitest/config";
import { limits, reporters, root } from "./shared.ts";

// The black-box tier: the tests run on Node, the server under test on what TARGET names.
export default defineConfig({
  root,
  test: {
    ...limits,
    include: ["tests/http/**/*.test.ts", "tests/clients/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    globalSetup: ["tests/http/start-target.ts"],
    isolate: false,
    pool: "threads",
    reporters: reporters(),
  },
});
