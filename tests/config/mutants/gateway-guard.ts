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
];
