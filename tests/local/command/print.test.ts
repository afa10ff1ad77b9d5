import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { commandWords } from "../../../adapters/cli/print/completion.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { host, root } from "../../config/shared.ts";
import { exitOf, startCommand } from "../runtimes.ts";
import { causey, causeyAll, serve } from "./run-command.ts";

const fresh = (): string => join(inject("scratch"), `print-${crypto.randomUUID()}`);

describe(`causey logs on ${host}`, () => {
  it(
    "prints the requests that were and, with -f, those that come, over a restart",
    LONG,
    async () => {
      const folder = fresh();
      const first = await serve(folder, ["--no-demo"]);
      await fetch(`${first.url}/nowhere/1`);
      const { url } = first;
      const at = ["--url", url, "--data-dir", folder];
      const lines = async (): Promise<string> => (await causey(["logs", ...at])).out;
      let out = "";
      for (; !out.includes("404"); out = await lines());
      expect(out).toMatch(/^\S+Z {2}404 +\d+ ms {2}GET +/mu);

      const child = startCommand(host, ["logs", "-f", "--json", ...at]);
      let followed = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (followed += text));
      child.stderr.resume();
      const ended = exitOf(child);
      await eventually(() => followed.includes('"status":404'), "the first row");
      await fetch(`${url}/healthz`, { method: "DELETE" });
      await eventually(() => followed.includes('"method":"DELETE"'), "a row that came");
      await first.stop();
      const second = await serve(folder, ["--no-demo", "--port", new URL(url).port]);
      expect(second.url).toBe(url);
      await fetch(`${url}/healthz`, { method: "PUT" });
      await eventually(() => followed.includes('"method":"PUT"'), "a row after the restart");
      const ids = followed
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id);
      expect(new Set(ids).size).toBe(ids.length);
      // Nothing that it asked is in the log, and neither is the token.
      expect(followed).not.toContain(readFileSync(join(folder, "token"), "utf8").trim());
      expect(followed).not.toContain("/console/events");
      child.kill("SIGINT");
      expect(["SIGINT", 130]).toContain(await ended);
      await second.stop();
    },
  );

  it("says what is missing", LONG, async () => {
    const folder = fresh();
    const none = await causey(["logs", "--data-dir", folder]);
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringMatching(/^error: There is no token .*\nhint: /u),
    ]);
    const server = await serve(folder, ["--no-demo", "--no-console"]);
    const at = ["--url", server.url, "--data-dir", folder];
    expect((await causey(["logs", ...at])).err).toMatch(
      /^error: .* has no console\nhint: Start it without --no-console\n$/u,
    );
    await server.stop();
    const foreign = await causey(["logs", ...at]);
    expect([foreign.code, foreign.err]).toEqual([
      1,
      expect.stringMatching(/^error: No server answers at .*\nhint: /u),
    ]);
  });
});

describe(`causey openapi on ${host}`, () => {
  it("prints the description that a server has, for the server that is named", async () => {
    const { code, out } = await causey(["openapi", "--url", "https://api.example/"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      openapi: "3.1.0",
      servers: [{ url: "https://api.example/" }],
    });
    expect((await causey(["openapi", "--url", "nowhere"])).code).toBe(2);
  });
});

describe(`causey completion on ${host}`, () => {
  it("knows the commands and options that the help texts have, and no others", LONG, async () => {
    const { out } = await causey(["--help"]);
    expect((await causey(["help", "token"])).out).toContain("Usage: causey token create");
    expect(await causey(["help", "serve"])).toMatchObject({ code: 0, out });
    const named = [...out.matchAll(/^ {7}causey (\w+)/gmu)].map((match) => match[1]);
    const documented = readFileSync(join(root, "docs/operation.md"), "utf8");
    for (const name of named) {
      expect(Object.keys(commandWords)).toContain(name);
      expect(documented).toContain(`\`causey ${name}`);
    }
    const commands = Object.entries(commandWords).filter(
      ([name]) => name !== "version" && name !== "help",
    );
    const helps = await causeyAll(commands.map(([name]) => [name, "--help"]));
    for (const [index, [name, { options, words }]] of commands.entries()) {
      const help = helps[index] ?? { code: "never ran", out: "" };
      expect(help.code, name).toBe(0);
      for (const word of words) expect(help.out, name).toMatch(new RegExp(`\\b${word}\\b`, "u"));
      const all = [...help.out.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gmu)].map(
        (match) => match[1] ?? "",
      );
      for (const option of all) expect(options, `${name} --${option}`).toContain(option);
      if (help.out.includes("All options of causey serve")) continue;
      for (const option of options) if (option !== "help") expect(all, name).toContain(option);
    }
  });

  it("completes in bash", async () => {
    const complete = (...words: string[]): string[] => {
      const script = `eval "$SCRIPT"; COMP_WORDS=(causey ${words.join(" ")}); COMP_CWORD=${words.length}; _causey
        echo "\${COMPREPLY[*]}"`;
      const env = { ...process.env, SCRIPT: printed };
      const { stdout } = spawnSync("bash", ["-c", script], { encoding: "utf8", env });
      return stdout.trim().split(" ");
    };
    const printed = (await causey(["completion", "bash"])).out;
    expect(complete("to")).toEqual(["token"]);
    expect(complete("token", "re")).toEqual(["revoke"]);
    expect(complete("backup", "--fo")).toEqual(["--force"]);
    expect(complete("serve", "--data-")).toEqual(["--data-dir"]);
  });

  it("refuses a shell that it does not know", async () => {
    const { code, err } = await causey(["completion", "bsh"]);
    expect([code, err]).toEqual([2, 'error: Unknown shell "bsh": did you mean "bash"?\n']);
  });
});
