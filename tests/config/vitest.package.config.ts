import { defineConfig } from "vitest/config";
import { limits, reporters, root } from "./shared.ts";

// Checks of the repository and of the package that is published from it.
export default defineConfig({
  root,
  test: {
    ...limits,
    include: ["tests/package/**/*.test.ts"],
    globalSetup: "tests/config/package-scratch.ts",
    isolate: false,
    pool: "threads",
    reporters: reporters(),
  },
});
