import type { Json } from "../../http/json.ts";

/** One error of the envelope. */
export interface ChainedError {
  readonly code: number;
  readonly message: string;
  readonly error_chain?: readonly ChainedError[];
}

/**
 * Old to modern: every error with a non-empty `error_chain` gives way to the chain's members (which may be wrapped
 * themselves), the others stay; no `error_chain` is left. For failed DNS record creation only (docs/compatibility.md).
 *
 * @example
 * ```ts
 * import { unwrapErrorChain } from "causey/deprecations";
 *
 * const cause = { code: 9005, message: "Content for A record must be a valid IPv4 address" };
 * unwrapErrorChain([{ code: 1004, message: "DNS Validation Error", error_chain: [cause] }]); // → [cause]
 * ```
 */
export function unwrapErrorChain(errors: readonly ChainedError[]): ChainedError[] {
  const out: ChainedError[] = [];
  // A stack instead of recursion: the depth of a body is its sender's choice.
  const rest = errors.toReversed();
  for (let error = rest.pop(); error !== undefined; error = rest.pop()) {
    const { error_chain: chain = [], ...plain } = error;
    if (chain.length === 0) out.push(plain);
    else rest.push(...chain.toReversed());
  }
  return out;
}

/** Whether an error of a JSON body can be unwrapped. */
export function isChained(error: Json): error is Json & ChainedError {
  return typeof error["code"] === "number" && typeof error["message"] === "string";
}

/**
 * Modern to old: one error 1004 with the root causes inside. An empty list and already wrapped errors stay as they are.
 *
 * @example
 * ```ts
 * import { wrapErrorChain } from "causey/deprecations";
 *
 * const cause = { code: 9005, message: "Content for A record must be a valid IPv4 address" };
 * wrapErrorChain([cause])[0]?.code; // → 1004
 * ```
 */
export function wrapErrorChain(errors: readonly ChainedError[]): ChainedError[] {
  if (errors.length === 0 || errors.some((error) => error.error_chain !== undefined))
    return [...errors];
  return [{ code: 1004, message: "DNS Validation Error", error_chain: errors }];
}
