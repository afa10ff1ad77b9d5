import * as v from "valibot";
import { readTraceparent } from "../trace/trace-context.ts";
import { refuseUnknown } from "../http/fields/body.ts";
import type { RenderOperation, OperationName } from "./operations.ts";

/** How a {@link RenderBinding} renders. */
export interface RenderCallOptions {
  /** Ends the rendering. */
  readonly signal?: AbortSignal | undefined;
  /** The span that asks (W3C Trace Context). @default the rendering begins a trace */
  readonly traceparent?: string | undefined;
}

/** One selector of `scrape`, and its matches; without a browser they have no place and size. */
export interface Scraped {
  readonly selector: string;
  readonly results: readonly {
    readonly text: string;
    readonly html: string;
    readonly attributes: readonly { readonly name: string; readonly value: string }[];
    readonly height?: number | undefined;
    readonly width?: number | undefined;
    readonly top?: number | undefined;
    readonly left?: number | undefined;
  }[];
}

/** The parts of a `snapshot` that were asked for. */
export interface Snapshot {
  readonly content?: string | undefined;
  /** Base64. */
  readonly screenshot?: string | undefined;
  readonly markdown?: string | undefined;
  readonly accessibilityTree?: unknown;
}

type Render<Result> = (body: unknown, options?: RenderCallOptions) => Promise<Result>;

/** The operations for code of the same process, which needs no token. Bodies are the same as those of the routes. */
export interface RenderBinding {
  readonly pdf: Render<Uint8Array<ArrayBuffer>>;
  readonly screenshot: Render<Uint8Array<ArrayBuffer>>;
  readonly markdown: Render<string>;
  /** Data that a model finds in the page. */
  readonly json: Render<unknown>;
  readonly content: Render<string>;
  readonly links: Render<readonly string[]>;
  readonly scrape: Render<readonly Scraped[]>;
  readonly accessibilityTree: Render<unknown>;
  readonly snapshot: Render<Snapshot>;
}

const scraped: v.GenericSchema<unknown, readonly Scraped[]> = v.array(
  v.object({
    selector: v.string(),
    results: v.array(
      v.object({
        text: v.string(),
        html: v.string(),
        attributes: v.array(v.object({ name: v.string(), value: v.string() })),
        height: v.optional(v.number()),
        width: v.optional(v.number()),
        top: v.optional(v.number()),
        left: v.optional(v.number()),
      }),
    ),
  }),
);

const snapshot: v.GenericSchema<unknown, Snapshot> = v.object({
  content: v.optional(v.string()),
  screenshot: v.optional(v.string()),
  markdown: v.optional(v.string()),
  accessibilityTree: v.optional(v.unknown()),
});

/** The owner of what code of the process has rendered. */
const PROCESS = "process";

/** Makes the binding over the operations that the routes have: both share the slots of the browser. */
export function renderBinding(
  operations: Readonly<Record<OperationName, RenderOperation>>,
): RenderBinding {
  const run = (
    name: OperationName,
    body: unknown,
    { signal, traceparent }: RenderCallOptions = {},
  ) =>
    operations[name]({
      request: new Request("http://localhost/", {
        method: "POST",
        body: JSON.stringify(body),
        signal: signal ?? null,
      }),
      query: new URLSearchParams(),
      caller: null,
      owner: PROCESS,
      onBrowserMs: () => undefined,
      onUnknown: refuseUnknown,
      trace: readTraceparent(traceparent ?? null),
    });
  const bytes =
    (name: OperationName): Render<Uint8Array<ArrayBuffer>> =>
    async (body, options) =>
      new Uint8Array(await (await run(name, body, options)).arrayBuffer());
  const result =
    <T>(name: OperationName, schema: v.GenericSchema<unknown, T>): Render<T> =>
    async (body, options) => {
      const answer: unknown = await (await run(name, body, options)).json();
      return v.parse(v.object({ result: schema }), answer).result;
    };
  const tree = result("accessibilityTree", v.object({ accessibilityTree: v.unknown() }));
  return {
    pdf: bytes("pdf"),
    screenshot: bytes("screenshot"),
    markdown: result("markdown", v.string()),
    json: result("json", v.unknown()),
    content: result("content", v.string()),
    links: result("links", v.array(v.string())),
    scrape: result("scrape", scraped),
    accessibilityTree: async (body, options) =>
      (await tree(body, options)).accessibilityTree ?? null,
    snapshot: result("snapshot", snapshot),
  };
}
