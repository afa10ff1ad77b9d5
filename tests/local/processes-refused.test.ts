import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { host, root } from "../config/shared.ts";

const onDeno = itUnless(host === "deno" ? undefined : "is about Deno's flags");
const onNode = itUnless(host === "node" ? undefined : "workerd is started by Node");
const CAUSEY_TOKEN = "processes-token-with-every-permission";
const folder = (): string => mkdtempSync(join(inject("scratch"), "refused-"));

interface Refused {
  readonly code: unknown;
  readonly said: string;
}

/** Runs it to its end; resolves with all that it says. */
function run(command: string, args: readonly string[], env: object = {}): Promise<Refused> {
  const chromium = { CAUSEY_CHROMIUM_PATH: process.execPath };
  const options = { cwd: root, env: { ...process.env, ...chromium, CAUSEY_TOKEN, ...env } };
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, said: `${stdout}${stderr}` });
    });
  });
}

describe("--processes is refused in one line", () => {
  const serve = [
    `${root}adapters/cli/main.ts`,
    "serve",
    "--no-demo",
    "--port",
    "0",
    "--processes",
    "2",
  ];

  onDeno("by Deno without --unstable-net", async () => {
    // That of the repository has the flag.
    const config = join(folder(), "deno.json");
    writeFileSync(config, '{"nodeModulesDir":"manual"}');
    const args = ["run", "-A", "--config", config, ...serve, "--data-dir", folder()];
    expect(await run(process.execPath, args)).toEqual({
      code: 1,
      said: "error: On Deno, processes can share a port only with --unstable-net: start with `deno run -A --unstable-net …`\n",
    });
  });

  onDeno("by Deno without all permissions, before anything is opened", async () => {
    const dataDir = folder();
    const some = ["net", "read", "write", "env", "sys", "run"].map((name) => `--allow-${name}`);
    const args = ["run", "--no-prompt", "--unstable-net", ...some, ...serve];
    const { code, said } = await run(process.execPath, [...args, "--data-dir", dataDir]);
    expect(code).toBe(1);
    expect(said).toMatch(
      /^error: --processes: this process may not start others like itself \(.*\): on Deno, start with `deno run -A --unstable-net …`\n$/u,
    );
    expect(readdirSync(dataDir)).not.toContain("causey.db");
  });

  const workerd = [`${root}scripts/serve-workers.mjs`, "--port", "0"];
  const refusal = "error: --processes is for Node, Deno and Bun: a workerd is one process\n";

  onNode("by the server of Workers, wherever it is asked for", async () => {
    for (const [args, env] of [
      [["--processes", "2"], {}],
      [[], { CAUSEY_PROCESSES: "2" }],
    ] as const) {
      const all = ["--no-warnings", ...workerd, "--data-dir", folder(), ...args];
      expect(await run(process.execPath, all, env)).toEqual({ code: 2, said: refusal });
    }
  });
});
