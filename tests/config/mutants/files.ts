import type { Mutant } from "./mutant.ts";

/** Guards of what reads files and pages beside the event loop. */
export const filesMutants: readonly Mutant[] = [
  {
    name: "threads are shared between owners",
    file: "adapters/shared/background/threads.ts",
    find: 'lanes[task.lane ?? "quick"], owner, signal',
    replace: 'lanes[task.lane ?? "quick"], SHARED, signal',
    tests: ["tests/local/threads"],
  },
  {
    name: "training keeps no conversion waiting",
    file: "adapters/shared/background/threads.ts",
    find: 'lanes[task.lane ?? "quick"]',
    replace: 'lanes["quick"]',
    tests: ["tests/local/threads"],
  },
];
