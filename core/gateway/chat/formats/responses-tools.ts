import * as v from "valibot";
import { parse } from "../../../http/fields/body.ts";
import { allowedTools } from "../allowed-tools.ts";
import { cacheMark } from "../cache-mark.ts";
import { cannotRun, type Chat, type ChatTool } from "../chat-format.ts";
import { type Json, jsonObjects, jsonText } from "../../../http/json.ts";
import { customFunction } from "./custom-tools.ts";

const text = v.string();
const markable = { cache_control: v.optional(v.unknown()) };
const functionTool = v.looseObject({
  ...markable,
  type: v.literal("function"),
  name: text,
  description: v.nullish(text),
  parameters: v.nullish(v.record(text, v.unknown())),
  strict: v.nullish(v.boolean()),
});
const customTool = v.looseObject({
  ...markable,
  type: v.literal("custom"),
  name: text,
  description: v.nullish(text),
  format: v.nullish(
    v.variant("type", [
      v.looseObject({ type: v.literal("text") }),
      v.looseObject({ type: v.literal("grammar"), syntax: text, definition: text }),
    ]),
  ),
});
const callable = v.variant("type", [functionTool, customTool]);
const tool = v.variant("type", [
  functionTool,
  customTool,
  v.looseObject({ type: v.literal("namespace"), name: text, tools: v.array(callable) }),
  v.looseObject({
    type: v.literal("tool_search"),
    execution: v.literal("client", "only the client can search here"),
    description: v.nullish(text),
    parameters: v.nullish(v.record(text, v.unknown())),
  }),
]);
const namedTool = v.looseObject({ type: v.picklist(["function", "custom"]), name: text });
const toolChoice = v.lazy((given) =>
  typeof given === "string"
    ? v.picklist(["none", "auto", "required"])
    : v.variant("type", [
        namedTool,
        v.looseObject({
          type: v.literal("allowed_tools"),
          mode: v.picklist(["auto", "required"]),
          tools: v.array(namedTool),
        }),
      ]),
);

type Callable = v.InferOutput<typeof callable>;
type Tool = v.InferOutput<typeof tool>;
type NamedTool = { type: "function" | "custom"; name: string };

interface ToolMembers {
  tools?: unknown[] | null | undefined;
  tool_choice?:
    | "none"
    | "auto"
    | "required"
    | NamedTool
    | { type: "allowed_tools"; mode: "auto" | "required"; tools: NamedTool[] }
    | null
    | undefined;
  parallel_tool_calls?: boolean | null | undefined;
}

/** Checks the members of a request that are about tools, beside them. */
export const toolMembers: {
  readonly [name in keyof ToolMembers]-?: v.GenericSchema<unknown, ToolMembers[name]>;
} = {
  tools: v.nullish(v.array(v.unknown())),
  tool_choice: v.nullish(toolChoice),
  parallel_tool_calls: v.nullish(v.boolean()),
};

export interface ClientTool {
  readonly type: "function" | "custom" | "tool_search";
  readonly name: string;
  readonly namespace?: string;
  readonly made: ChatTool;
}

/** The tools of a request, by the names under which a chat has them. */
export type ClientTools = ReadonlyMap<string, ClientTool>;

/** The name of the function that stands for a search of the client's for tools. */
export const TOOL_SEARCH = "tool_search";

/**
 * Returns the tools of a request: its own, those of its input (`additional_tools`), and those that a search has found.
 * Those of a namespace have its name in front. Throws `chat_format` for a tool that the provider would have to run.
 */
export function clientTools(given: Json): ClientTools {
  const items = jsonObjects(given["input"]);
  const later = items.filter(({ type }) => type === "additional_tools" || type === FOUND);
  const all = [given, ...later].flatMap((one) => jsonObjects(one["tools"]));
  const own = all.find(({ type }) => !TOOL_TYPES.has(jsonText(type)));
  if (own !== undefined) throw cannotRun(jsonText(own["type"]));
  const { tools } = parse(v.object({ tools: v.array(tool) }), { tools: all }, "chat_format");
  return new Map(tools.flatMap((one) => named(one)).map((one) => [one.made.function.name, one]));
}

const TOOL_TYPES: ReadonlySet<string> = new Set(["function", "custom", "namespace", TOOL_SEARCH]);

/** The type of an item with the tools that a search has found. */
const FOUND = "tool_search_output";

function named(given: Tool): ClientTool[] {
  if (given.type === "namespace") {
    const { name: namespace, tools } = given;
    return tools.map((one) => ({ ...clientTool(one, prefixed(namespace, one.name)), namespace }));
  }
  if (given.type !== "tool_search") return [clientTool(given, given.name)];
  const { description, parameters } = given;
  const made = functionOf({ type: "function", name: TOOL_SEARCH, description, parameters });
  return [{ type: "tool_search", name: TOOL_SEARCH, made: { type: "function", function: made } }];
}

function clientTool(given: Callable, wire: string): ClientTool {
  const made = { ...functionOf(given), name: wire };
  const marked: ChatTool = { type: "function", function: made, ...cacheMark(given) };
  return { type: given.type, name: given.name, made: marked };
}

function prefixed(namespace: string, name: string): string {
  return `${namespace}__${name}`;
}

/** Returns the name under which a chat has the tool that a call names. */
export function wireName(call: {
  readonly name: string;
  readonly namespace?: string | null | undefined;
}): string {
  const { name, namespace } = call;
  return namespace == null ? name : prefixed(namespace, name);
}

/** Returns the words by which a model hears of the tools that a search has found. */
export function foundTools({ tools }: Json): string {
  const names = jsonObjects(tools).map(({ name }) => jsonText(name));
  return names.length === 0 ? "No tool was found." : `Now there are: ${names.join(", ")}`;
}

export function toolsOf(request: ToolMembers, client: ClientTools): Partial<Chat> {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  const tools = [...client.values()].map(({ made }) => made);
  const all = { tools: tools.length === 0 ? null : tools, parallel_tool_calls: parallel };
  if (choice == null || typeof choice === "string") return { ...all, tool_choice: choice };
  if (choice.type !== "allowed_tools")
    return { ...all, tool_choice: { type: "function", function: { name: choice.name } } };
  const names = choice.tools.map(({ name }) => name);
  return { ...all, ...allowedTools(tools, names, choice.mode) };
}

function functionOf(given: Callable): ChatTool["function"] {
  if (given.type === "custom") {
    const { name, description, format } = given;
    const grammar = format?.type === "grammar" ? format : undefined;
    return customFunction({ name, description, grammar });
  }
  const { name, description, parameters, strict } = given;
  return {
    name,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  };
}
