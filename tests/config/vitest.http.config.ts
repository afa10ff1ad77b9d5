import { defineConfig } from "vitest/config";
import { onNodeAlone } from "./one-engine.ts";
import { limits, reporters, root } from "./shared.ts";

const isOnNode = (process.env["TARGET"] ?? "node") === "node";

// The black-box tier: the tests run on Node, the server under test on what TARGET names.
export default defineConfig({
  root,
  test: {
    ...limits,
    include: ["tests/http/**/*.test.ts", "tests/clients/**/*.test.ts"],
    exclude: ["**/node_modules/**", ...(isOnNode ? [] : onNodeAlone.map(({ file }) => file))],
    globalSetup: ["tests/http/start-target.ts"],
    isolate: false,
    pool: "threads",
    reporters: reporters(),
  },
});
