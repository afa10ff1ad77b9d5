import { describe, it } from "vitest";
import type { Capability, Platform } from "../../core/ports.ts";

/** One fact that an implementation of a port has to show; it throws when it does not. */
export interface Case<Subject> {
  readonly name: string;
  run(subject: Subject): Promise<void>;
}

/** The facts of one port. */
export interface Suite<Subject> {
  readonly port: string;
  /** Without it the suite is skipped, with the platform's reason printed. @default none */
  readonly needs?: Capability;
  readonly cases: readonly Case<Subject>[];
}

/** A browser may have to be unpacked first; no other case comes near. */
const LONGEST_MS = 30_000;

/** Runs a suite against the platform of the running runtime. */
export function runSuite<Subject>(
  suite: Suite<Subject>,
  open: () => Promise<{ readonly subject: Subject; readonly platform: Platform }>,
): void {
  describe(suite.port, () => {
    for (const one of suite.cases) {
      it(
        one.name,
        async ({ skip }) => {
          const { subject, platform } = await open();
          try {
            const has = suite.needs === undefined ? true : platform.capabilities[suite.needs];
            if (has !== true) skip(`${platform.runtime}: ${has}`);
            await one.run(subject);
          } finally {
            await platform.close();
          }
        },
        LONGEST_MS,
      );
    }
  });
}

/** Waits until the check holds; fails after a time far above what any runtime needs. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`Never came true: ${what}`);
}
