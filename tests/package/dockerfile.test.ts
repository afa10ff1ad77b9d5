import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { packClone } from "./packed.ts";

// No engine is needed: the file is read, and what its last stage runs is run in a folder.

interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** The instructions of a Dockerfile: https://docs.docker.com/reference/dockerfile/ */
function instructionsOf(text: string): Instruction[] {
  return text
    .replaceAll(/\\\n\s*/gu, "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", value = ""] = /^([A-Z]+) (.+)$/u.exec(line) ?? [];
      return { name, value };
    });
}

const instructions = instructionsOf(readFileSync(`${root}Dockerfile`, "utf8"));
const valuesOf = (name: string): string[] =>
  instructions.filter((one) => one.name === name).map(({ value }) => value);
const folder = mkdtempSync(join(tmpdir(), "causey-docker-"));
const packed = packClone();
afterAll(() => {
  for (const path of [folder, packed.folder]) rmSync(path, { recursive: true, force: true });
});

test("the Dockerfile has known instructions, and begins with a stage", () => {
  const known = "FROM WORKDIR COPY RUN USER VOLUME EXPOSE HEALTHCHECK CMD".split(" ");
  expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
  expect(instructions[0]?.name).toBe("FROM");
  const { engines } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    engines: { node: string };
  };
  for (const from of valuesOf("FROM"))
    expect(Number(/^node:(\d+)-slim/u.exec(from)?.[1])).toBeGreaterThanOrEqual(
      Number.parseInt(engines.node.replace(">=", ""), 10),
    );
  // The last stage runs as a user who is not the superuser: Chromium then has its sandbox.
  expect(valuesOf("USER")).toEqual(["node"]);
});

test("each file that the Dockerfile copies is in the clone, and not ignored", () => {
  const ignored = readFileSync(`${root}.dockerignore`, "utf8").trim().split("\n");
  const copies = valuesOf("COPY").map((value) => value.split(" "));
  const fromClone = copies.filter(([first]) => !first?.startsWith("--from="));
  for (const path of fromClone.flatMap((words) => words.slice(0, -1))) {
    expect(existsSync(join(root, path)), path).toBe(true);
    expect(ignored).not.toContain(path);
  }
  // What the clone holds as secrets and what it was built from before stay outside.
  expect(ignored).toEqual(expect.arrayContaining([".causey", ".git", "**/node_modules", "dist"]));
  const stages = valuesOf("FROM").map((value) => / AS (\w+)$/u.exec(value)?.[1]);
  for (const [first = ""] of copies.filter(([one]) => one?.startsWith("--from=")))
    expect(stages).toContain(first.slice("--from=".length));
});

test("what the image runs installs the package, and serves", LONG, async () => {
  const [app, data] = ["app", "data"].map((name) => join(folder, name)) as [string, string];
  const copied = valuesOf("COPY").find((value) => value.startsWith("--from="));
  expect(copied).toBe("--from=package /src/causey-*.tgz ./");
  expect(valuesOf("RUN")).toContain("npm pack --pack-destination /src");
  mkdirSync(app);
  copyFileSync(packed.tarball, join(app, "causey-0.0.0.tgz"));
  const installs = valuesOf("RUN").find((value) => value.includes("npm install")) ?? "";
  const installed = spawnSync("sh", ["-c", installs], {
    cwd: app,
    encoding: "utf8",
    env: { ...process.env, npm_config_prefer_offline: "true" },
  });
  expect(installed.status, installed.stdout + installed.stderr).toBe(0);
  const [command = ""] = valuesOf("CMD");
  const words = (JSON.parse(command) as string[]).map((word) => (word === "/data" ? data : word));
  expect(words).toContain(data);
  const child = spawn(words[0] ?? "", [...words.slice(1), "--port", "0"], {
    cwd: app,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const port = (): string | undefined =>
    /Listening +http:\/\/127\.0\.0\.1:(\d+)/u.exec(output)?.[1];
  try {
    await eventually(() => port() !== undefined || child.exitCode !== null, "it listens");
    expect(port(), output).toBeDefined();
    const [check = ""] = valuesOf("HEALTHCHECK");
    const [node = "", ...args] = JSON.parse(check.replace(/^CMD /u, "")) as string[];
    const at = (place: string | undefined): string[] =>
      args.map((word) => word.replace(":8787", `:${place ?? ""}`));
    expect(spawnSync(node, at(port())).status).toBe(0);
    // Nothing listens there.
    expect(spawnSync(node, at("1")).status).not.toBe(0);
  } finally {
    child.kill();
    await ended;
  }
});
