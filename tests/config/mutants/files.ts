import type { Mutant } from "./mutant.ts";

/** Guards of what reads files and pages beside the event loop. */
export const filesMutants: readonly Mutant[] = [
  {
    name: "threads are shared between owners",
    file: "adapters/shared/background/threads.ts",
    find: "slots[kind], owner, signal",
    replace: "slots[kind], SHARED, signal",
    tests: ["tests/local/threads"],
  },
  {
    name: "training keeps no conversion waiting",
    file: "adapters/shared/background/threads.ts",
    find: "inSlot(slots[kind],",
    replace: "inSlot(slots.quick,",
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
  {
    name: "full text is not run once per chunk when results are sorted",
    file: "core/search/retrieve/keyword-leg.ts",
    find: `AND +\${isOneOf("rowid", "BIGINT")}`,
    replace: `AND \${isOneOf("rowid", "BIGINT")}`,
    tests: ["tests/unit/search/plans"],
  },
  {
    name: "a deleted instance takes no other one out of the list",
    file: "core/search/directory/instance-list.ts",
    find: "if (listed.created_at !== createdAt) return;",
    replace: "",
    tests: ["tests/unit/search/instances"],
  },
  {
    name: "the text of every file is bounded",
    file: "core/files/text-budget.ts",
    find: "if (left < 0) throw",
    replace: "if (left < -Infinity) throw",
    tests: ["tests/unit/search/hostile-files"],
  },
  {
    name: "what a PDF unpacks to is bounded, packed twice or not",
    file: "core/files/pdf-streams.ts",
    find: "if (isPackedAgain !== true) break;",
    replace: "break;",
    tests: ["tests/unit/search/hostile-files"],
  },
  {
    name: "documents of very many parts are refused",
    file: "core/search/files/package-parts.ts",
    find: "if (names.length > MAX_PARTS)",
    replace: "if (names.length > Infinity)",
    tests: ["tests/unit/search/hostile-files"],
  },
  {
    name: "the warnings of an item are bounded in number",
    file: "core/search/read/file-warning.ts",
    find: "warnings.length <= MAX_WARNINGS",
    replace: "warnings.length >= 0",
    tests: ["tests/unit/search/warnings"],
  },
  {
    name: "the warnings of an item are bounded in length",
    file: "core/search/read/file-warning.ts",
    find: "message: message.slice(0, MAX_MESSAGE).toWellFormed(),",
    replace: "message,",
    tests: ["tests/unit/search/warnings"],
  },
];
