import * as v from "valibot";

/** One part of a tool's result, as the protocol has it. */
export type McpContent =
  | { readonly type: "text"; readonly text: string }
  /** `data` is Base64. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | {
      readonly type: "resource";
      /** `blob` is Base64. */
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string };
    };

/** The result of a tool: parts, or an object, which clients without a use for objects get as JSON. */
export type McpToolResult =
  | { readonly content: readonly McpContent[] }
  | { readonly structured: Readonly<Record<string, unknown>> };

/** A tool for clients of the Model Context Protocol. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Whether the tool only reads. */
  readonly isReading: boolean;
  /** Whether the tool reaches other servers. */
  readonly isOpen: boolean;
  readonly schema: v.GenericSchema;
  /** {@link schema} as clients are shown it. */
  readonly json: Readonly<Record<string, unknown>>;
  /** @throws ApiError, which becomes a result with `isError` */
  run(given: unknown): Promise<McpToolResult>;
}

/** The tools of one endpoint. */
export interface McpTools {
  /** The name of the part that the tools belong to. */
  readonly name: string;
  readonly tools: readonly McpTool[];
}

/** Answers one request of an MCP client, whose body is read. `closing` aborts when the server shuts down. */
export type ServeMcp = (
  request: Request,
  body: unknown,
  tools: McpTools,
  closing: AbortSignal | undefined,
) => Promise<Response>;

/** Arguments that were checked. */
type Checked<E extends v.ObjectEntries> = v.InferOutput<v.StrictObjectSchema<E, undefined>>;

/** The arguments of a tool: how each is checked, and how clients are shown it. */
export type McpArguments<E extends v.ObjectEntries> = {
  readonly [Name in keyof E]: readonly [schema: E[Name], shown: Readonly<Record<string, unknown>>];
};

/** Makes a tool whose arguments are checked before it runs. Unknown arguments are refused. */
export function mcpTool<E extends v.ObjectEntries>(
  about: Pick<McpTool, "name" | "title" | "description" | "isReading" | "isOpen">,
  given: McpArguments<E>,
  run: (args: Checked<E>) => Promise<McpToolResult>,
): McpTool {
  const entries = Object.entries<readonly [v.GenericSchema, object]>(given);
  // `as`: the same names with their schemas.
  const fields = Object.fromEntries(entries.map(([name, [schema]]) => [name, schema])) as E;
  const schema = v.strictObject(fields);
  const required = entries.flatMap(([name, [one]]) => (one.type === "optional" ? [] : [name]));
  return {
    ...about,
    schema,
    json: {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, [, shown]]) => [name, shown])),
      required,
      additionalProperties: false,
    },
    run: (args) => run(v.parse(schema, args)),
  };
}
