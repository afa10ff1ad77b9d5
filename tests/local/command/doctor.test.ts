import { readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { eventually, LONG } from "../../cases/eventually.ts";
import { host } from "../../config/shared.ts";
import { lendBrowser } from "../../platform/shared-browser.ts";
import { causey, serve } from "./run-command.ts";

const fresh = (): string => join(inject("scratch"), `doctor-${crypto.randomUUID()}`);

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An endpoint whose clock is off by so many ms; counts the credentials that it gets. */
async function endpoint(offMs = 0): Promise<{ url: string; port: number; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers));
    response.sendDate = false;
    response.setHeader("date", new Date(Date.now() + offMs).toUTCString());
    response.writeHead(401).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, port, seen };
}

interface Report {
  readonly healthy: boolean;
  readonly findings: { check: string; status: string; detail: string; hint?: string }[];
}

async function doctor(
  config: object,
  args: readonly string[] = [],
): Promise<Report & { code: number | string }> {
  const folder = fresh();
  const path = `${folder}.json`;
  writeFileSync(path, JSON.stringify(config));
  await lendBrowser(folder);
  const options = ["--json", "--config", path, "--data-dir", folder, "--port", "0", ...args];
  const { code, out, err } = await causey(["doctor", ...options]);
  expect(err).toBe("");
  return { code, ...(JSON.parse(out) as Report) };
}

const KEY = "a-key-that-nobody-sees";

describe(`causey doctor on ${host}`, () => {
  it("finds nothing wrong where a server would work, and sends no key", LONG, async () => {
    const { url, seen } = await endpoint();
    const gateway = {
      providers: { "custom-here": { baseUrl: url, apiKey: KEY } },
      checkers: { words: { url, headers: { authorization: KEY } } },
    };
    const { healthy, code, findings } = await doctor({ gateway }, ["--chromium-path", ""]);
    const failed = findings.filter(({ status }) => status === "fail");
    expect([failed, healthy, code]).toEqual([[], true, 0]);
    expect(findings.map(({ check }) => check).join()).toBe(
      "runtime,configuration,port,data folder,disk,sqlite,browser,sandbox,fonts,provider gateway.providers.custom-here,provider gateway.checkers.words,clock",
    );
    expect(seen.join("")).not.toContain(KEY);
  });

  it("ends with 1, and says what to do about each fault", LONG, async () => {
    const { url, port } = await endpoint(3_600_000);
    const path = `${fresh()}.json`;
    const config = {
      // Below a file nobody can make a folder, not even the superuser.
      dataDir: join(path, "folder"),
      gateway: {
        providers: {
          "custom-late": { baseUrl: url, apiKey: KEY },
          "custom-gone": { baseUrl: "http://127.0.0.1:1/v1" },
        },
      },
    };
    writeFileSync(path, JSON.stringify(config));
    const { code, out } = await causey([
      "doctor",
      "--json",
      "--config",
      path,
      "--port",
      String(port),
    ]);
    expect(code).toBe(1);
    const { findings, healthy } = JSON.parse(out) as Report;
    expect(healthy).toBe(false);
    const wrong = findings.filter(({ status }) => status === "fail");
    expect(wrong.map(({ check }) => check).join()).toBe(
      "port,data folder,sqlite,browser,provider gateway.providers.custom-gone,clock",
    );
    for (const { check, hint } of wrong) if (check !== "sqlite") expect(hint, check).toBeDefined();
    expect(out).not.toContain(KEY);
  });

  it("goes on behind a wrong configuration", LONG, async () => {
    const { code, findings } = await doctor({ prot: 1 });
    expect(code).toBe(1);
    expect(findings.find(({ check }) => check === "configuration")).toMatchObject({
      status: "fail",
      detail: 'Unknown configuration key "prot": did you mean "port"?',
    });
    expect(findings.at(-1)?.check).toBe("clock");
  });

  it("knows a causey that runs, and leaves nothing behind in its folder", LONG, async () => {
    const folder = fresh();
    const server = await serve(folder, ["--no-demo"]);
    // The server makes it beside its other work.
    await eventually(() => readdirSync(folder).includes("reserve"), "the space that is kept");
    const before = readdirSync(folder).toSorted();
    const { port } = new URL(server.url);
    const { out } = await causey(["doctor", "--data-dir", folder, "--port", port]);
    expect(out).toMatch(/^ok +port +A causey answers at /mu);
    const after = readdirSync(folder).filter((name) => !name.startsWith("chromium"));
    expect(after.toSorted()).toEqual(before);
    await server.stop();
  });
});
