import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { chromium } from "../../adapters/shared/chromium/chromium.ts";
import { localSystem } from "../../adapters/shared/system.ts";

it("a browser that cannot start is started once for a request, and the reason is told", async () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-browser-"));
  const starts = join(folder, "starts");
  const path = join(folder, "browser");
  writeFileSync(starts, "");
  writeFileSync(path, `#!/bin/sh\necho x >> ${starts}\nexit 3\n`);
  chmodSync(path, 0o755);
  const log = (): void => undefined;
  const browser = chromium({
    stateDir: folder,
    executablePath: path,
    noSandbox: true,
    log,
    system: localSystem(log),
  });
  try {
    const failure = await browser.connect().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      kind: "no_browser",
      options: { headers: { "retry-after": "1" } },
    });
    expect(readFileSync(starts, "utf8")).toBe("x\n");
    const told = browser.trouble?.().failure;
    expect(told).toMatch(/browser/u);
    // On a busy machine a server prepares the browser when a request has needed it already.
    await browser.prepare?.();
    expect(browser.trouble?.().failure).toBe(told);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it("a browser that the system refuses to run is told, and does not end the process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-browser-"));
  const path = join(folder, "browser");
  writeFileSync(path, "#!/nowhere/interpreter\n");
  chmodSync(path, 0o755);
  const log = (): void => undefined;
  const browser = chromium({
    stateDir: folder,
    executablePath: path,
    noSandbox: true,
    log,
    system: localSystem(log),
  });
  try {
    const failure = await browser.connect().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      kind: "no_browser",
      message: expect.stringContaining("The browser did not start"),
    });
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
