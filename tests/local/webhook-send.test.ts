import { describe, expect, it } from "vitest";
import { parseSend, webhookHelp, type SendInput } from "../../adapters/cli/webhook-send.ts";
import { schemes } from "../../core/webhooks/mod.ts";

const input: SendInput = {
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
      [[...needed, "again"], 'Unknown command "webhook send again": there is "webhook send"'],
    ] as const) {
      expect(() => parse(...args)).toThrow(message);
    }
  });

  it("names every scheme in its help", () => {
    for (const name of Object.keys(schemes)) expect(webhookHelp).toContain(name);
  });
});
