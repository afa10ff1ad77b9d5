import { expect } from "vitest";
import type { System } from "../../core/ports.ts";
import type { Suite } from "./suite.ts";

/** What every `System` shows. */
export const systemSuite: Suite<System> = {
  port: "System",
  cases: [
    {
      name: "now() is Unix time in whole milliseconds",
      async run(system) {
        expect(system.now()).toBeGreaterThan(Date.UTC(2025));
        expect(Number.isInteger(system.now())).toBe(true);
      },
    },
    {
      name: "id() is a fresh UUID of version 4",
      async run(system) {
        const ids = Array.from({ length: 100 }, () => system.id());
        for (const id of ids)
          expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u);
        expect(new Set(ids).size).toBe(100);
      },
    },
    {
      name: "random() gives as many bytes as asked for, also more than 65,536",
      async run(system) {
        expect(system.random(0)).toHaveLength(0);
        expect(system.random(16)).not.toEqual(system.random(16));
        const many = system.random(70_000);
        expect(many).toHaveLength(70_000);
        expect(many.subarray(-32)).not.toEqual(new Uint8Array(32));
      },
    },
    {
      name: "sleep() resolves after the time",
      async run(system) {
        const before = performance.now();
        await system.sleep(30);
        // workerd's clock stands still between I/O and timers may round down by one.
        expect(performance.now() - before).toBeGreaterThanOrEqual(28);
      },
    },
    {
      name: "sleep() rejects with the signal's reason, before and during the wait",
      async run(system) {
        const reason = new Error("enough");
        await expect(system.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
        const controller = new AbortController();
        const sleeping = system.sleep(60_000, controller.signal);
        controller.abort(reason);
        await expect(sleeping).rejects.toBe(reason);
      },
    },
    {
      name: "waitUntil() takes work that fails without failing itself",
      async run(system) {
        let done = false;
        system.waitUntil(Promise.reject(new Error("background")));
        system.waitUntil(
          system.sleep(5).then(() => {
            done = true;
          }),
        );
        await system.sleep(20);
        expect(done).toBe(true);
      },
    },
  ],
};
