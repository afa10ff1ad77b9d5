import { defineConfig } from "vitest/config";
import { reporters, root } from "./shared.ts";

// Checks of the repository and of the package that is published from it.
export default defineConfig({
  root,
  test: {
    include: ["tests/package/**/*.test.ts"],
    isolate: false,
    pool: "threads",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: reporters(),
  },
});
