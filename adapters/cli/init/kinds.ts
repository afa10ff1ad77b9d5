import { randomBytes } from "node:crypto";
import { newKey } from "../../../core/auth/token-format.ts";

/** A kind of project: the example that it starts as, how it is started, and where its token stands. */
export interface Kind {
  /** The folder below `examples/`. */
  readonly example: string;
  /** The name of its runtime, for people. */
  readonly runtime: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly install: string;
  readonly start: string;
  readonly secrets: ".env" | ".dev.vars";
  /** Whether it starts as the demo does: with a source of webhooks, types, a README and a browser. @default false */
  readonly isDemo?: boolean;
  /** Packages of this repository's own development that it needs for its types. @default [] */
  readonly types?: readonly string[];
  /** How its modules are resolved, see `module` of `tsconfig.json`. @default "preserve" */
  readonly module?: string;
  /** Rows of its README about what other kinds do not have. @default none */
  readonly parts?: readonly (readonly [name: string, purpose: string])[];
  /** Further lines beside the token. @default none */
  readonly variables?: () => readonly string[];
}

const NPM = { install: "npm install", start: "npm start" } as const;
const ON_NODE = {
  ...NPM,
  runtime: "Node",
  scripts: { start: "node --env-file=.env server.ts", types: "tsc --noEmit" },
  secrets: ".env",
  isDemo: true,
  types: ["@types/node"],
  module: "nodenext",
} as const;

/** The kinds of projects that `causey init` makes. */
export const kinds: Readonly<Record<string, Kind>> = {
  node: { ...ON_NODE, example: "projects/node" },
  deno: {
    example: "projects/deno",
    runtime: "Deno",
    scripts: { start: "deno run -A --env-file=.env main.ts", types: "tsc --noEmit" },
    install: "deno install",
    start: "deno task start",
    secrets: ".env",
    isDemo: true,
    types: ["@types/deno"],
  },
  bun: {
    example: "projects/bun",
    runtime: "Bun",
    scripts: { start: "bun server.ts", types: "tsc --noEmit" },
    install: "bun install",
    start: "bun start",
    secrets: ".env",
    isDemo: true,
    types: ["@types/bun"],
  },
  workers: {
    ...NPM,
    example: "projects/workers",
    runtime: "Cloudflare Workers",
    scripts: { start: "wrangler dev", deploy: "wrangler deploy", types: "tsc --noEmit" },
    secrets: ".dev.vars",
    isDemo: true,
    types: ["@cloudflare/workers-types"],
  },
  gateway: {
    ...NPM,
    example: "gateway",
    runtime: "Node",
    scripts: {
      start: "node --env-file=.env node_modules/causey/dist/cli/main.js --config causey.json",
    },
    secrets: ".env",
    variables: () => [
      "OPENAI_API_KEY=your-key-of-openai",
      "ANTHROPIC_API_KEY=your-key-of-anthropic",
      ...["ANN_KEY", "BOB_KEY"].map((name) => `${name}=${newKey((length) => randomBytes(length))}`),
    ],
  },
  hono: {
    ...ON_NODE,
    example: "projects/hono",
    parts: [
      ["http://127.0.0.1:8787/", "The help desk: visitors ask, and the handbook answers"],
      ["help-desk.ts", "Puts the handbook into a search instance, and asks it"],
      ["page.ts", "The page of the help desk"],
      ["handbook", "Your texts, which the start reads"],
    ],
  },
};
