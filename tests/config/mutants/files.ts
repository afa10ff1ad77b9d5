import type { Mutant } from "./mutant.ts";

/** Guards of what reads files and pages beside the event loop. */
export const filesMutants: readonly Mutant[] = [
  {
    name: "threads are shared between owners",
    file: "adapters/shared/background/threads.ts",
    find: "lanes[lane], owner, signal",
    replace: "lanes[lane], SHARED, signal",
    tests: ["tests/local/threads"],
  },
  {
    name: "training keeps no conversion waiting",
    file: "adapters/shared/background/threads.ts",
    find: "inSlot(lanes[lane],",
    replace: "inSlot(lanes.quick,",
    tests: ["tests/local/threads"],
  },
  {
    name: "a process that reads files ends itself at its limit of memory",
    file: "adapters/shared/background/process-isolate.ts",
    find: "fileURLToPath(entry), String(bytes)",
    replace: "fileURLToPath(entry), String(bytes * 1000)",
    tests: ["tests/local/file-processes"],
  },
  {
    name: "a process that ends is given no further file",
    file: "adapters/shared/background/isolate-pool.ts",
    find: "if (isolate.isSpent()) await end(isolate);",
    replace: "if (false) await end(isolate);",
    tests: ["tests/local/file-processes"],
  },
];
