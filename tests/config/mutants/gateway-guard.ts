import type { Mutant } from "./mutant.ts";

/** Guards of what may pass a gateway's checks. */
export const gatewayGuardMutants: readonly Mutant[] = [
  {
    name: "what stands in base64 is looked at",
    file: "core/gateway/guard/detect/pattern.ts",
    find: "decoded: decodedTokens(plain)",
    replace: 'decoded: ""',
    tests: ["tests/unit/gateway/guard/decoded-text"],
  },
  {
    name: "escapes of URLs and HTML are looked through",
    file: "core/gateway/guard/detect/pattern.ts",
    find: "unescaped: withoutEscapes(plain)",
    replace: "unescaped: plain",
    tests: ["tests/unit/gateway/guard/decoded-text"],
  },
  {
    name: "data that is decoded is text before it is looked at",
    file: "core/gateway/guard/detect/decoded-form.ts",
    find: "others > text.length * NOISE",
    replace: "others > text.length",
    tests: ["tests/unit/gateway/guard/decoded-text"],
  },
  {
    name: "a file in base64 is not decoded",
    file: "core/gateway/guard/detect/decoded-form.ts",
    find: "if (run.length >= MOST || index === longEnd)",
    replace: "if (index === longEnd)",
    tests: ["tests/unit/gateway/guard/decoded-text"],
  },
  {
    name: "a checker is sent no text beyond its bound",
    file: "core/gateway/guard/checkers/http-checker.ts",
    find: "if (text.length > MOST)",
    replace: "if (text.length > Infinity)",
    tests: ["tests/unit/gateway/guard/http-checker"],
  },
  {
    name: "a checker that refuses gives no verdict",
    file: "core/gateway/guard/checkers/http-checker.ts",
    find: "if (answer.status !== 200)",
    replace: "if (answer.status === 0)",
    tests: ["tests/unit/gateway/guard/http-checker"],
  },
  {
    name: "a failed check blocks unless it is told otherwise",
    file: "core/gateway/guard/checkers/http-checker.ts",
    find: 'if (onFailure !== "allow") throw',
    replace: 'if (onFailure === "block") throw',
    tests: ["tests/unit/gateway/guard/http-checker"],
  },
  {
    name: "a verdict that is none does not let a text pass",
    file: "core/gateway/guard/checkers/http-checker.ts",
    find: "if (!isFlag && !blocks) throw",
    replace: "if (!isFlag && !blocks) return clean; else if (false) throw",
    tests: ["tests/unit/gateway/guard/http-checker"],
  },
  {
    name: "a checker has a deadline",
    file: "core/gateway/guard/checkers/http-checker.ts",
    find: "withinMs({ ms: timeoutMs,",
    replace: "withinMs({ ms: 1e9,",
    tests: ["tests/unit/gateway/guard/http-checker"],
  },
  {
    name: "a verdict of flagging does not block",
    file: "core/gateway/guard/checkers/inspect.ts",
    find: "onlyFlags !== true && ",
    replace: "",
    tests: ["tests/unit/gateway/guard/safety"],
  },
];
