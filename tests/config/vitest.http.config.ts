import { defineConfig } from "vitest/config";
import { leftToOneServer } from "./one-engine.ts";
import { leftOut, limits, reporters, root, type RuntimeName } from "./shared.ts";

const target = (process.env["TARGET"] ?? "node") as RuntimeName;
const isCluster = target.endsWith("-cluster");

// The black-box tier: the tests run on Node, the server under test on what TARGET names.
export default defineConfig({
  root,
  test: {
    ...limits,
    include: ["tests/http/**/*.test.ts", "tests/clients/**/*.test.ts"],
    exclude: ["**/node_modules/**", ...leftOut(target), ...(isCluster ? leftToOneServer : [])],
    globalSetup: ["tests/http/start-target.ts"],
    isolate: false,
    pool: "threads",
    reporters: reporters(),
  },
});
