import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { host } from "../../config/shared.ts";
import { causey } from "./run-command.ts";

function file(content: object): string {
  const path = join(inject("scratch"), `config-${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe(`causey config on ${host}`, () => {
  it("check ends with 0 or 2 as a start would", async () => {
    const good = file({ port: 1 });
    expect(
      await causey(["config", "check", "--config", good, "--no-demo", "--json"]),
    ).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\{"valid":true,"settings":\d+\}\n$/u),
    });
    for (const [content, message] of [
      [{ prot: 1 }, 'error: Unknown configuration key "prot": did you mean "port"?\n'],
      [{ processes: 2, dataDir: ":memory:" }, "error: --processes: processes share"],
      [{ tokens: [{ token: "a".repeat(20), permissions: ["AI Gatway Run"] }] }, "AI Gatway Run"],
    ] as const) {
      const { code, err } = await causey(["config", "check", "--config", file(content)]);
      expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    }
    const unknownPart = await causey(["config", "check"], { CAUSEY_DEBUG: "gateway,serch" });
    expect([unknownPart.code, unknownPart.err]).toEqual([
      2,
      expect.stringContaining('did you mean "search"?'),
    ]);
    // A pod beside a Kubernetes service of that name has these.
    const service = await causey(["config", "show", "--no-demo"], {
      CAUSEY_SERVICE_HOST: "10.0.0.1",
      CAUSEY_SERVICE_PORT: "8787",
      CAUSEY_SERVICE_PORT_HTTP: "8787",
      CAUSEY_PORT: "tcp://10.0.0.1:8787",
      CAUSEY_PORT_8787_TCP: "tcp://10.0.0.1:8787",
      CAUSEY_PORT_8787_TCP_PROTO: "tcp",
      CAUSEY_PORT_8787_TCP_PORT: "8787",
      CAUSEY_PORT_8787_TCP_ADDR: "10.0.0.1",
    });
    expect([service.code, service.out]).toEqual([
      0,
      expect.stringMatching(/^port +"8787" +default$/mu),
    ]);
    expect(service.out).not.toMatch(/^ /mu);
    const misnamed = await causey(["config", "check"], { CAUSEY_PROT: "1" });
    expect([misnamed.code, misnamed.err]).toEqual([
      2,
      expect.stringContaining('did you mean "CAUSEY_PORT"?'),
    ]);
  });

  it("show prints what holds", async () => {
    const path = file({ gateway: { masterKey: "a-master-key-of-some-length" } });
    const { code, out } = await causey(["config", "show", "--config", path, "--port=9"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^port +9 +--port$/mu);
    expect(out).toMatch(/^gateway\.masterKey +"\(hidden\)" +\S*\.json$/mu);
    expect(out).toMatch(/^host +"127\.0\.0\.1" +default$/mu);
    expect(out).not.toContain("a-master-key");
    const wrong = await causey(["config", "shwo"]);
    expect([wrong.code, wrong.err]).toEqual([
      2,
      'error: Unknown command "config shwo": did you mean "show"?\n',
    ]);
  });
});
