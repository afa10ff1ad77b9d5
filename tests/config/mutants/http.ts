import type { Mutant } from "./mutant.ts";

/** Those of requests and answers of every part. */
export const httpMutants: readonly Mutant[] = [
  {
    name: "a field without effect is refused where nobody could be told",
    file: "core/http/body.ts",
    find: "  refuseUnknown(unknown);\n",
    replace: "",
    tests: ["tests/unit/search/binding"],
  },
  {
    name: "a mount path stands in headers and addresses as it is",
    file: "core/http/mount-path.ts",
    find: "if (isMountPath(path)) return path;",
    replace: "return path;",
    tests: ["tests/unit/http/mount-path"],
  },
  {
    name: "a body finds room or is refused",
    file: "core/http/arriving-body.ts",
    find: "if (done && isFull) throw bodiesFull();",
    replace: "",
    tests: ["tests/unit/http/bodies-in-memory"],
  },
  {
    name: "a stream over its limit is not taken for a whole one",
    file: "core/http/stream.ts",
    find: "if (isWhole) return joinBytes(pieces.list);",
    replace: "if (isWhole || limit > 0) return joinBytes(pieces.list);",
    tests: ["tests/unit/http/stream"],
  },
  {
    name: "a body arrives in time",
    file: "core/http/arriving-body.ts",
    find: "clock?.check();",
    replace: "",
    tests: ["tests/unit/http/bodies-in-memory"],
  },
  {
    name: "a small body arrives in time",
    file: "core/http/arriving-body.ts",
    find: "() => late.reject(tooSlow()),",
    replace: "() => undefined,",
    tests: ["tests/unit/http/bodies-in-memory"],
  },
  {
    name: "a body counts no longer once its use is over",
    file: "core/http/body.ts",
    find: "room.release();",
    replace: "",
    tests: ["tests/unit/http/bodies-in-memory"],
  },
  {
    name: "an instant's zone is within a day",
    file: "core/http/instant.ts",
    find: "part(9) > 23 || part(10) > 59",
    replace: "false",
    tests: ["tests/unit/http/instant"],
  },
  {
    name: "an instant's day is in the calendar",
    file: "core/http/instant.ts",
    find: "date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day",
    replace: "false",
    tests: ["tests/unit/http/instant"],
  },
  {
    name: "a body with too many members is not parsed",
    file: "core/http/json.ts",
    find: "if (members > MEMBERS)",
    replace: "if (members < 0)",
    tests: ["tests/unit/http/body"],
  },
  {
    name: "a misspelt field is refused",
    file: "core/http/fields/unknown-fields.ts",
    find: "if (meant !== undefined) {",
    replace: 'if (meant === "") {',
    tests: ["tests/unit/http/unknown-fields"],
  },
];
