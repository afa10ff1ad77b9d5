import { it, type TestContext } from "vitest";

type Body = (context: TestContext) => unknown;

/** Declares a test, or skips it for a reason that the summary prints; undefined runs it. */
export function itUnless(
  reason: string | undefined,
): (name: string, options: Body | { readonly timeout: number }, body?: Body | number) => void {
  return (name, options, body) => {
    if (reason !== undefined) it(name, (context) => context.skip(reason));
    else if (typeof options !== "function") it(name, options, body as Body);
    else if (typeof body === "number") it(name, options, body);
    else it(name, options);
  };
}
