import { describe, it } from "vitest";
import type { Capability, Platform } from "../../core/ports.ts";

/** One fact that an implementation of a port has to show; it throws when it does not. */
export interface Case<Subject> {
  readonly name: string;
  /** Closes the platform and opens its data again. @default false */
  readonly restarts?: true;
  /** Longest time in ms. @default that of every test */
  readonly timeoutMs?: number;
  run(subject: Subject): Promise<void>;
}

/** The facts of one port. */
export interface Suite<Subject> {
  readonly port: string;
  /** Without it the suite is skipped, with the platform's reason printed. @default none */
  readonly needs?: Capability;
  readonly cases: readonly Case<Subject>[];
}

/** Runs a suite against a platform; `lacks` says why it cannot show a case, null where it can. */
export function runSuite<Subject>(
  suite: Suite<Subject>,
  open: () => Promise<{ readonly subject: Subject; readonly platform: Platform }>,
  lacks: (one: Case<Subject>) => string | null = () => null,
): void {
  describe(suite.port, () => {
    for (const one of suite.cases) {
      const limit = one.timeoutMs === undefined ? {} : { timeout: one.timeoutMs };
      it(one.name, limit, async ({ skip }) => {
        const { subject, platform } = await open();
        try {
          const has = suite.needs === undefined ? true : platform.capabilities[suite.needs];
          if (has !== true) skip(`${platform.runtime}: ${has}`);
          const lack = lacks(one);
          if (lack !== null) skip(`${platform.runtime}: ${lack}`);
          await one.run(subject);
        } finally {
          await platform.close();
        }
      });
    }
  });
}
