import { holdsLongText, jsonParts } from "../../http/json/long-json.ts";

/** The members that a call begins with. The session comes before the method, so that the first part has it. */
export interface CallHead {
  readonly id: number;
  readonly sessionId?: string;
  readonly method: string;
}

/** The message of a call; in parts when one of its parameters holds a long text. */
export function callMessage(
  head: CallHead,
  params: Readonly<Record<string, unknown>>,
): string | Iterable<string> {
  const call = { ...head, params };
  return holdsLongText(params) ? jsonParts(call) : JSON.stringify(call);
}

/** A message as one text, for a wire that takes no parts. */
export function wholeMessage(message: string | Iterable<string>): string {
  return typeof message === "string" ? message : [...message].join("");
}
