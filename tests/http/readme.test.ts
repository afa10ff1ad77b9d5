import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../core/config/parse-config.ts";
import { codeBlocks, expectConsoleBlock } from "./console-blocks.ts";
import { lendBrowser } from "../platform/shared-browser.ts";
import { startTarget, type Target } from "./target.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const start = readFileSync(join(root, "docs/start.md"), "utf8");
describe("README and the guide to start with", () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-readme-"));
  let target: Target;

  beforeAll(async () => {
    const dataDir = join(folder, ".causey");
    await lendBrowser(dataDir);
    target = await startTarget({ dataDir, demo: true, env: { CAUSEY_TOKEN: "" } });
  });
  afterAll(async () => {
    await target.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const setUp = codeBlocks(readme, "sh")[1] ?? "";

  const examples = [readme, start].flatMap((page) => codeBlocks(page, "console"));
  it.each(examples.map((block) => [block.split("\n")[0] ?? "", block]))(
    "%s ... prints what the page says",
    async (_, block) => {
      await expectConsoleBlock(block, { folder, url: target.url, setUp });
    },
  );

  it.each(["node/server", "deno/main", "bun/server", "workers/main", "embed/server"])(
    "shows examples/%s.ts as it is",
    (name) => {
      expect(codeBlocks(readme, "ts")).toContain(
        readFileSync(join(root, "examples", `${name}.ts`), "utf8"),
      );
    },
  );

  it("shows the Wrangler configuration of the Workers example as it is", () => {
    const path = "examples/workers/wrangler.jsonc";
    expect(codeBlocks(readme, "jsonc")).toEqual([
      `// ${path}\n${readFileSync(join(root, path), "utf8")}`,
    ]);
  });

  it("has a configuration page whose example is a valid configuration", () => {
    const page = readFileSync(join(root, "docs/configuration.md"), "utf8");
    for (const block of codeBlocks(page, "json"))
      expect(() => parseConfig(block, () => "0123456789abcdef")).not.toThrow();
  });
});
