import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepare } from "../../adapters/cli/serve/prepare.ts";
import {
  parseKeys,
  parseSend,
  webhookHelp,
  type SendEnvironment,
  webhookKeys,
} from "../../adapters/cli/webhook-send.ts";
import { prepareKey } from "../../core/webhooks/signing/keys.ts";
import { schemes, simulate } from "../../core/webhooks/mod.ts";
import { verify } from "../../core/webhooks/signing/verify.ts";

const input: SendEnvironment = {
  env: { HOOK_SECRET: "from the environment" },
  read: (file) => new TextEncoder().encode(`content of ${file}`),
  freshId: "fresh",
};
const parse = (...args: string[]) => parseSend(["send", ...args], input);
const needed = ["--scheme", "stripe", "--url", "http://a.test/x", "--secret", "s"] as const;

describe("causey webhook send", () => {
  it("makes up an id and a body when none is given", () => {
    const { body, id } = parse(...needed);
    expect(id).toBe("fresh");
    expect(JSON.parse(new TextDecoder().decode(body))).toMatchObject({ id: "fresh" });
  });

  it("fits the source that the demo of the server has", () => {
    const folder = mkdtempSync(join(tmpdir(), "causey-send-"));
    const { config } = prepare(new Map([["data-dir", folder]]), {});
    rmSync(folder, { recursive: true });
    const demo = config.webhooks?.sources?.["demo"];
    const { body } = parse("--scheme", demo?.scheme ?? "", ...needed.slice(2));
    expect(demo?.entity).toEqual({ from: "payload", path: "entity" });
    expect(JSON.parse(new TextDecoder().decode(body))).toMatchObject({ entity: "test" });
  });

  it("reads the body from a file and the secret from the environment", () => {
    const webhook = parse(...needed.slice(0, 4), "--secret", "env:HOOK_SECRET", "--data", "-");
    expect(new TextDecoder().decode(webhook.body)).toBe("content of -");
    expect(webhook.secret).toBe("from the environment");
  });

  it("says in one line what is wrong", () => {
    for (const [args, message] of [
      [needed.slice(2), "webhook send needs --scheme, --url and --secret"],
      [["--scheme", "strip", ...needed.slice(2)], 'Unknown scheme "strip": did you mean "stripe"?'],
      [["--scheme", "toString", ...needed.slice(2)], 'Unknown scheme "toString"'],
      [[...needed, "--url", "file:///etc"], '--url must be an http or https address, got "file:'],
      [[...needed, "--secret", "env:NOPE"], 'The environment variable "NOPE" is not set'],
      [[...needed, "again"], 'Unknown command "webhook send again": there are "webhook send" and'],
    ] as const) {
      expect(() => parse(...args)).toThrow(message);
    }
  });

  it("names every scheme in its help", () => {
    for (const name of Object.keys(schemes)) expect(webhookHelp).toContain(name);
  });

  it("makes keys for schemes of public keys, and says which have none", async () => {
    for (const name of ["discord", "sendgrid", "standard-webhooks"] as const) {
      const scheme = schemes[parseKeys(["keys", "--scheme", name])];
      const { publicKey, privateKey } = webhookKeys(name);
      const body = new TextEncoder().encode('{"id":"1"}');
      const request = { method: "POST", url: "http://a.test/", body, contentType: "text/plain" };
      const now = Date.now();
      const signed = await simulate(scheme, privateKey, { ...request, id: "1", type: "t", now });
      const key = prepareKey(scheme, publicKey, name);
      expect(await verify(scheme, [key], { ...request, ...signed }, now)).toBeNull();
      const other = prepareKey(scheme, webhookKeys(name).publicKey, name);
      expect(await verify(scheme, [other], { ...request, ...signed }, now)).toBe("mismatch");
    }
    expect(() => webhookKeys("github")).toThrow('"github" has a shared secret');
    expect(() => parseKeys(["keys"])).toThrow("webhook keys needs --scheme");
    expect(() => parseKeys(["keys", "--scheme", "discor"])).toThrow('did you mean "discord"?');
  });
});
