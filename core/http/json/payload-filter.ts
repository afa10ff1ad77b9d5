import { memberAt, satisfies } from "./condition.ts";
import { exactJson } from "./json-source.ts";

/**
 * Tests filters against a payload. A filter is the JSON text of a condition; anything else lets every payload through. The
 * payload is parsed at the first filter.
 */
export function payloadFilter(payload: string): (filter: unknown) => boolean {
  let parsed: { readonly value: unknown } | undefined;
  return (filter) => {
    if (typeof filter !== "string") return true;
    const { value } = (parsed ??= { value: exactJson(payload) });
    return satisfies(JSON.parse(filter), (path) => memberAt(value, path.split(".")));
  };
}
