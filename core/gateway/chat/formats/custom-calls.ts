import { type Json, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import { type ObjectScan, objectScan } from "../object-scan.ts";
import type { ChatToolCall, ToolCallDelta } from "../reply.ts";
import { customInput } from "./custom-tools.ts";

/** The names of a chat's custom tools. */
export type CustomNames = ReadonlySet<string>;

export function customNames(given: Json): CustomNames {
  const custom = jsonObjects(given["tools"]).filter(({ type }) => type === "custom");
  return new Set(custom.map((tool) => jsonText(jsonObject(tool["custom"])["name"])));
}

/** Returns a call in the form of the tool that the client has. */
export function clientCall(call: ChatToolCall, names: CustomNames): object {
  const { name, arguments: text } = call.function;
  if (!names.has(name)) return call;
  const { function: _, ...more } = call;
  return { ...more, type: "custom", custom: { name, input: customInput(text) } };
}

interface OpenCall {
  call: ChatToolCall & Pick<ToolCallDelta, "index">;
  readonly scan: ObjectScan;
  isSent: boolean;
}

/** Returns the pieces of calls in the form of the client's tools; at the end also those that are cut off. */
export type ClientCalls = (pieces: readonly ToolCallDelta[], isEnd: boolean) => readonly object[];

/** Sends a call of a custom tool in one piece, when it is whole: until then its input is a part of JSON. */
export function clientCalls(names: CustomNames): ClientCalls {
  if (names.size === 0) return (pieces) => pieces;
  const open = new Map<number, OpenCall>();
  const sent = (one: OpenCall): object[] => {
    if (one.isSent) return [];
    one.isSent = true;
    return [clientCall(one.call, names)];
  };
  const pieceOf = (piece: ToolCallDelta): object[] => {
    const { index, id = `call_${index}` } = piece;
    const { name = "", arguments: text = "" } = piece.function;
    const known = open.get(index);
    if (known === undefined && !names.has(name)) return [piece];
    const empty = {
      ...piece,
      index,
      id,
      type: "function",
      function: { name, arguments: "" },
    } as const;
    const one = known ?? { call: empty, scan: objectScan(), isSent: false };
    open.set(index, one);
    const made = one.call.function;
    one.call = { ...one.call, function: { ...made, arguments: made.arguments + text } };
    one.scan.push(text);
    return one.scan.isWhole() ? sent(one) : [];
  };
  return (pieces, isEnd) => [
    ...pieces.flatMap(pieceOf),
    ...(isEnd ? [...open.values()].flatMap(sent) : []),
  ];
}
