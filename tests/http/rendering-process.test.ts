import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { lendBrowser } from "../platform/shared-browser.ts";
import { type Answer, missingBrowser, post } from "./render-client.ts";
import { startTarget, targetName } from "./target.ts";

const token = inject("token");
const account = inject("accountId");

describe("the browser's process", () => {
  const local = targetName() !== "workers" && process.platform === "linux";
  if (!local)
    console.info(`Processes are skipped on ${targetName()}: the browser is not its child`);

  const dataDir = mkdtempSync(join(tmpdir(), "causey-browser-"));
  beforeAll(() => lendBrowser(dataDir));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  const commandOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1");
    } catch {
      return "";
    }
  };
  /** The browsers that use profiles of a data folder, without their helper processes. */
  const browsersOf = (): number[] =>
    readdirSync("/proc")
      .filter((entry) => /^\d+$/u.test(entry))
      .filter(
        (pid) =>
          commandOf(pid).includes(`--user-data-dir=${dataDir}`) &&
          !commandOf(pid).includes("--type="),
      )
      .map(Number);

  for (const how of ["stop", "kill"] as const)
    itUnless(missingBrowser ?? (local ? undefined : "the browser is not the server's child there"))(
      `ends with its server, by ${how}(), in the middle of work`,
      async () => {
        const target = await startTarget({
          dataDir,
          args: ["--account-id", account],
          env: { CAUSEY_TOKEN: token },
        });
        expect(
          (await post("browser-rendering/content", { html: "<p>x" }, {}, target.url)).status,
        ).toBe(200);
        expect(browsersOf().length).toBeGreaterThan(0);
        const busy = post(
          "browser-rendering/content",
          { html: "<script>for (;;);</script>", gotoOptions: { timeout: 2000 } },
          {},
          target.url,
        ).catch(() => null);
        await new Promise((done) => setTimeout(done, 300));
        await target[how]();
        await eventually(() => browsersOf().length === 0, "its browsers are gone");
        await busy;
      },
    );

  itUnless(missingBrowser ?? (local ? undefined : "the browser is not the server's child there"))(
    "is replaced after a crash",
    async () => {
      const target = await startTarget({
        dataDir,
        args: ["--account-id", account],
        env: { CAUSEY_TOKEN: token },
      });
      const busy = post(
        "browser-rendering/content",
        { html: "<p>x", waitForTimeout: 60_000 },
        {},
        target.url,
      );
      // A request whose page had not begun is tried once more, on a new browser: that one is killed too.
      const killing = setInterval(() => {
        for (const pid of browsersOf()) process.kill(pid, "SIGKILL");
      }, 500);
      const crashed = await busy.finally(() => clearInterval(killing));
      expect([crashed.status, crashed.body.errors[0]?.code]).toEqual([503, 503]);
      // A browser that was killed while it started is not started again at once.
      await eventually(
        async () =>
          (await post("browser-rendering/content", { html: "<p>x" }, {}, target.url)).status ===
          200,
        "a new browser renders",
      );
      await target.stop();
    },
  );

  for (const when of ["between two pages", "in the middle of a page"] as const)
    itUnless(missingBrowser ?? (local ? undefined : "the browser is not the server's child there"))(
      `is replaced when it hangs ${when}`,
      async () => {
        const target = await startTarget({
          dataDir,
          args: ["--account-id", account],
          env: { CAUSEY_TOKEN: token },
        });
        const ask = (body: object): Promise<Answer> =>
          post("browser-rendering/content", body, {}, target.url);
        expect((await ask({ html: "<p>first" })).status).toBe(200);
        const slow = { html: "<p>slow", waitForTimeout: 1000, actionTimeout: 1000 };
        const busy = when === "between two pages" ? null : ask(slow);
        await new Promise((done) => setTimeout(done, 300));
        const hung = browsersOf();
        for (const pid of hung) process.kill(-pid, "SIGSTOP");
        const next = await ask({ html: "<p>x" });
        expect([next.status, next.body.result]).toEqual([200, expect.stringContaining("<p>x")]);
        if (busy !== null) expect([200, 422, 503]).toContain((await busy).status);
        await eventually(
          () => hung.every((pid) => !browsersOf().includes(pid)),
          "the hung browser is gone",
        );
        await target.stop();
      },
    );
});
