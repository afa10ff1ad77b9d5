import type { ChatTool } from "../chat-format.ts";
import { parsedObject } from "../../../http/json.ts";

/** A tool whose input is any text, or one that a grammar allows. */
export interface CustomTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly grammar?: { readonly syntax: string; readonly definition: string } | undefined;
}

/** The one parameter of a custom tool as a function. */
const INPUT = "input";

/** Returns a custom tool as a function of one text: only OpenAI's formats have such tools. */
export function customFunction({ name, description, grammar }: CustomTool): ChatTool["function"] {
  const rule =
    grammar === undefined
      ? ""
      : `The input has to match this ${grammar.syntax} grammar:\n${grammar.definition}`;
  const told = [description ?? "", rule].filter((one) => one !== "").join("\n\n");
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

export function customArguments(input: string): string {
  return JSON.stringify({ [INPUT]: input });
}

/** Returns the input of a custom tool that a model called as a function; what it wrote where that is something else. */
export function customInput(made: string): string {
  const input = parsedObject(made)?.[INPUT];
  return typeof input === "string" ? input : made;
}
