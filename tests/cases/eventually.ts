/** Below every test's own limit, so that what never came true is named. */
export const PATIENCE_MS = 50_000;

/** For the few tests that start several servers one after the other, or send thousands of requests. */
export const LONG: { readonly timeout: number } = { timeout: 5 * 60_000 };

/** Waits until the check holds, as long as a busy machine takes. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const late = Date.now() + PATIENCE_MS;
  while (!(await check())) {
    if (Date.now() > late) throw new Error(`Never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
