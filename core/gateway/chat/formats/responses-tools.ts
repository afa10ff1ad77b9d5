import * as v from "valibot";
import { allowedTools } from "../allowed-tools.ts";
import { cacheMark } from "../cache-mark.ts";
import type { Chat, ChatTool, Markable } from "../chat-format.ts";
import { type Json, jsonObjects, jsonText, parsedObject } from "../../../http/json.ts";

const text = v.string();
const markable = { cache_control: v.optional(v.unknown()) };
const tool = v.variant("type", [
  v.looseObject({
    ...markable,
    type: v.literal("function"),
    name: text,
    description: v.nullish(text),
    parameters: v.nullish(v.record(text, v.unknown())),
    strict: v.nullish(v.boolean()),
  }),
  v.looseObject({
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
  }),
]);
const named = v.looseObject({ type: v.picklist(["function", "custom"]), name: text });
const toolChoice = v.lazy((given) =>
  typeof given === "string"
    ? v.picklist(["none", "auto", "required"])
    : v.variant("type", [
        named,
        v.looseObject({
          type: v.literal("allowed_tools"),
          mode: v.picklist(["auto", "required"]),
          tools: v.array(named),
        }),
      ]),
);

/** A function that a model may call. */
interface FunctionTool extends Markable {
  type: "function";
  name: string;
  description?: string | null | undefined;
  parameters?: Record<string, unknown> | null | undefined;
  strict?: boolean | null | undefined;
}

/** A tool whose input is any text, or one of a grammar. */
interface CustomTool extends Markable {
  type: "custom";
  name: string;
  description?: string | null | undefined;
  format?:
    | { type: "text" }
    | { type: "grammar"; syntax: string; definition: string }
    | null
    | undefined;
}

type Tool = FunctionTool | CustomTool;

type NamedTool = { type: "function" | "custom"; name: string };

/** The members of a request that are about tools. */
interface ToolMembers {
  tools?: Tool[] | null | undefined;
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

/** Checks the members of a request that are about tools. */
export const toolMembers: {
  readonly [name in keyof ToolMembers]-?: v.GenericSchema<unknown, ToolMembers[name]>;
} = {
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(toolChoice),
  parallel_tool_calls: v.nullish(v.boolean()),
};

/** Returns a chat's tools, and its choice of them. */
export function toolsOf(request: ToolMembers): Partial<Chat> {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  const tools = request.tools?.map((given): ChatTool => ({
    type: "function",
    function: functionOf(given),
    ...cacheMark(given),
  }));
  const all = { tools, parallel_tool_calls: parallel };
  if (choice == null || typeof choice === "string") return { ...all, tool_choice: choice };
  if (choice.type !== "allowed_tools")
    return { ...all, tool_choice: { type: "function", function: { name: choice.name } } };
  const names = choice.tools.map(({ name }) => name);
  return { ...all, ...allowedTools(tools ?? [], names, choice.mode) };
}

function functionOf(given: Tool): ChatTool["function"] {
  if (given.type === "custom") return customFunction(given);
  const { name, description, parameters, strict } = given;
  return {
    name,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  };
}

/** The one parameter of a custom tool as a function. */
const INPUT = "input";

/** Returns a custom tool, whose input is any text, as a function of one text: no other format has such tools. */
function customFunction({ name, description, format }: CustomTool): ChatTool["function"] {
  const grammar =
    format?.type === "grammar"
      ? `The input has to match this ${format.syntax} grammar:\n${format.definition}`
      : "";
  const told = [description ?? "", grammar].filter((one) => one !== "").join("\n\n");
  return {
    name,
    ...(told === "" ? {} : { description: told }),
    parameters: {
      type: "object",
      properties: { [INPUT]: { type: "string" } },
      required: [INPUT],
      additionalProperties: false,
    },
  };
}

/** Returns the arguments of a call of a custom tool as a function's. */
export function customArguments(input: string): string {
  return JSON.stringify({ [INPUT]: input });
}

/** Returns the input of a custom tool that a model called as a function; what it wrote where that is something else. */
export function customInput(made: string): string {
  const input = parsedObject(made)?.[INPUT];
  return typeof input === "string" ? input : made;
}

/** Returns the names of a request's custom tools. */
export function customTools({ tools }: Json): ReadonlySet<string> {
  const custom = jsonObjects(tools).filter(({ type }) => type === "custom");
  return new Set(custom.map(({ name }) => jsonText(name)));
}
