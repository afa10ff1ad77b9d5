import type { Mutant } from "./mutant.ts";

const tests = ["tests/local/postgres/move"];

/** Those of moving the state between a folder and a database. */
export const moveMutants: readonly Mutant[] = [
  {
    name: "a folder that a server holds is not moved",
    file: "adapters/cli/move/folder-tables.ts",
    find: "if (!folder.hold())",
    replace: "if (false)",
    tests,
  },
  {
    name: "nothing is moved into a folder that holds tables",
    file: "adapters/cli/move/folder-tables.ts",
    find: 'if (db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").all().length > 0)',
    replace: "if (false)",
    tests,
  },
  {
    name: "a database that a server uses is not moved",
    file: "adapters/cli/move/database-tables.ts",
    find: 'if (facts["served"] === 1)',
    replace: "if (false)",
    tests,
  },
  {
    name: "nothing is moved into a database that holds state",
    file: "adapters/cli/move/database-tables.ts",
    find: 'if (role === "target" && facts["used"] === 1)',
    replace: "if (false)",
    tests,
  },
  {
    name: "a search by keywords on PostgreSQL is refused",
    file: "core/search/retrieve/retrieve.ts",
    find: "if (state.facts().settings.index_method.keyword) checkKeywordIndex(state);",
    replace: "",
    tests,
  },
];
