import type { Mutant } from "./mutant.ts";

/** Those of who is who, and of what a caller sees of others. */
export const identityMutants: readonly Mutant[] = [
  {
    name: "the console shows the requests of a part to those who may read it",
    file: "core/signals/visibility.ts",
    find: "rows.filter(({ part, account }) => sees(part, account)),",
    replace: "rows,",
    tests: ["tests/unit/console"],
  },
  {
    name: "the console shows the figures of a part to those who may read it",
    file: "core/signals/visibility.ts",
    find: "addedUp(slots.filter(({ part, account }) => sees(part, account)))",
    replace: "addedUp(slots)",
    tests: ["tests/unit/console"],
  },
  {
    name: "the requests of an account are shown to those who may read that account",
    file: "core/signals/visibility.ts",
    find: "allows(viewer, permissionFor(part), account);",
    replace: "allows(viewer, permissionFor(part), accountId);",
    tests: ["tests/unit/console"],
  },
  {
    name: "the console shows what models cost to those who may read gateways",
    file: "core/api.ts",
    find: 'if (viewer !== "host" && !allows(viewer, "AI Gateway Read", accountId)) return null;',
    replace: "",
    tests: ["tests/unit/console"],
  },
  {
    name: "who uses what is deprecated is shown to those who may read the account",
    file: "core/signals/visibility.ts",
    find: 'uses.filter(({ account }) => sees("platform", account)),',
    replace: "uses,",
    tests: ["tests/unit/console"],
  },
  {
    name: "an open stream of the console ends with its token",
    file: "core/console/mod.ts",
    find: "session(c).then(({ viewer: found }) => found, strangerOrThrow);",
    replace: 'Promise.resolve("host");',
    tests: ["tests/unit/console"],
  },
  {
    name: "a stranger's use of what is deprecated does not count",
    file: "core/signals/deprecated-uses.ts",
    find: 'const { method, status, time, caller = "", token, account, deprecation: id } = row;',
    replace:
      'const { method, status, time, caller = "", token = caller, account, deprecation: id } = row;',
    tests: ["tests/unit/signals/deprecated"],
  },
  {
    name: "the caller with the most deprecated uses makes room",
    file: "core/signals/deprecated-uses.ts",
    find: "if (counts.get(token) !== most || last >= since) continue;",
    replace: "if (last >= since) continue;",
    tests: ["tests/unit/signals/deprecated"],
  },
  {
    name: "a request id that holds a token is not taken",
    file: "core/signals/access-log.ts",
    find: "if (!ID.test(text) || hasTokenShape(text) || isSecret(text)) return false;",
    replace: "if (!ID.test(text)) return false;",
    tests: ["tests/unit/signals/signals"],
  },
];
