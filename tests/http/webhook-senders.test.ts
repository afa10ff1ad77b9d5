import { execFile } from "node:child_process";
import { createHmac, createPrivateKey, sign } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text as readText } from "node:stream/consumers";
import { promisify } from "node:util";
import { describe, expect, inject, it } from "vitest";
import { parseSend, sendWebhook } from "../../adapters/cli/webhook-send.ts";
import { commandFile } from "../config/command-file.ts";
import { root } from "../config/shared.ts";
import { discordPrivateKey, webhookSecrets } from "./prepare-target.ts";

const baseUrl = inject("baseUrl");
const seconds = (): string => String(Math.floor(Date.now() / 1000));
const hmac = (secret: string, text: string): string =>
  createHmac("sha256", secret).update(text).digest("hex");

async function post(
  source: string,
  body: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${baseUrl}/webhooks/${source}`, { method: "POST", body, headers });
  return { status: response.status, body: await response.json() };
}

describe("a provider that tests the receiver gets the answer that it expects", () => {
  it("Slack: the challenge, with a valid signature only", async () => {
    const body = '{"type":"url_verification","challenge":"c-1"}';
    const time = seconds();
    const signature = `v0=${hmac(webhookSecrets.slack, `v0:${time}:${body}`)}`;
    const headers = { "x-slack-request-timestamp": time, "x-slack-signature": signature };
    expect(await post("slack", body, headers)).toEqual({ status: 200, body: { challenge: "c-1" } });
    expect((await post("slack", body.replace("c-1", "c-2"), headers)).status).toBe(401);
  });

  it("Zoom: the plain token and its HMAC", async () => {
    const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"p-1"}}';
    const time = seconds();
    const signature = `v0=${hmac(webhookSecrets.zoom, `v0:${time}:${body}`)}`;
    const headers = { "x-zm-request-timestamp": time, "x-zm-signature": signature };
    const encryptedToken = hmac(webhookSecrets.zoom, "p-1");
    expect(await post("zoom", body, headers)).toEqual({
      status: 200,
      body: { plainToken: "p-1", encryptedToken },
    });
  });

  it("Discord: a ping's own type, and 401 for the wrong signature that it tries", async () => {
    const body = '{"type":1}';
    const time = seconds();
    const key = createPrivateKey({
      key: Buffer.from(discordPrivateKey, "base64"),
      format: "der",
      type: "pkcs8",
    });
    const signature = sign(null, Buffer.from(time + body), key).toString("hex");
    const headers = { "x-signature-timestamp": time, "x-signature-ed25519": signature };
    expect(await post("discord", body, headers)).toEqual({ status: 200, body: { type: 1 } });
    const wrong = { ...headers, "x-signature-ed25519": "00".repeat(64) };
    expect((await post("discord", body, wrong)).status).toBe(401);
  });

  it("Dropbox: the challenge as plain text that no browser takes for a document", async () => {
    const challenge = "<script>1</script>";
    const url = `${baseUrl}/webhooks/dropbox?challenge=${encodeURIComponent(challenge)}`;
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([200, challenge]);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await fetch(`${baseUrl}/webhooks/dropbox`)).status).toBe(405);
  });
});

/** Posts with a target and headers as they are written here: `fetch` would change both. */
async function postRaw(
  target: string,
  body: string,
  headers: Record<string, string>,
): Promise<{ status: number | undefined; text: string }> {
  const { hostname, port } = new URL(baseUrl);
  const outgoing = request({ hostname, port, path: target, method: "POST", headers });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: response.statusCode, text: await readText(response) };
}

describe("a signature that is none", () => {
  const malformed = [
    "00",
    "00".repeat(63),
    "00".repeat(65),
    "zz".repeat(64),
    "\u00e9",
    "00".repeat(3000),
  ];
  const signatures = [...malformed, `${"00".repeat(64)}, ${"00".repeat(64)}`];

  it("is a 401 that says why, whatever its length and characters", async () => {
    for (const signature of signatures) {
      const headers = { "x-signature-timestamp": seconds(), "x-signature-ed25519": signature };
      const refused = await postRaw("/webhooks/discord", '{"type":1}', headers);
      expect([refused.status, refused.text], signature.slice(0, 20)).toEqual([
        401,
        expect.stringMatching(/The signature (?:is malformed|does not match)/),
      ]);
    }
  });
});

describe("Twilio signs the address as it calls it", () => {
  it("with an apostrophe in the query", async () => {
    const body = "AccountSid=AC1&MessageSid=SM1&SmsStatus=sent";
    for (const target of ["/webhooks/twilio?name=O'Hara", "/webhooks/twilio?name=O%27Hara"]) {
      const signed = `${baseUrl}${target}AccountSidAC1MessageSidSM1SmsStatussent`;
      const signature = createHmac("sha1", webhookSecrets.twilio).update(signed).digest("base64");
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-twilio-signature": signature,
      };
      expect((await postRaw(target, body, headers)).status).toBe(200);
      expect((await postRaw(`${target}'`, body, headers)).status).toBe(401);
    }
  });
});

describe("an entity with a secret of its own", () => {
  const signed = (secret: string, body: string): Record<string, string> => ({
    "x-signature": `sha256=${hmac(secret, body)}`,
  });

  it("takes what that secret signs, whatever the body names", async () => {
    const body = '{"event_id":"own-1"}';
    const own = await post("generic/http-own-secret", body, signed(webhookSecrets.ownEntity, body));
    expect(own).toMatchObject({ status: 200, body: { result: { entity: "http-own-secret" } } });
  });

  it("is closed to the secret of the source, on both routes", async () => {
    const body = '{"event_id":"own-2","entity":"http-own-secret"}';
    const headers = signed(webhookSecrets.generic, body);
    expect((await post("generic/http-own-secret", body, headers)).status).toBe(401);
    expect((await post("generic", body, headers)).status).toBe(401);
  });
});

describe("causey webhook send", () => {
  const run = async (input: string, ...args: string[]): Promise<string> => {
    const command = [commandFile, "webhook", "send", "--data", "-", ...args];
    const running = promisify(execFile)(process.execPath, command, { cwd: root });
    running.child.stdin?.end(input);
    return (await running).stdout;
  };

  /** The same in this process: a start of the command takes longer than all that it does. */
  const sent = async (input: string, ...args: string[]): Promise<string> => {
    const read = (): Uint8Array => new TextEncoder().encode(input);
    const wanted = ["send", "--data", "-", ...args];
    const { status, text } = await sendWebhook(parseSend(wanted, { env: {}, read, freshId: "" }));
    return `${status} ${text}`;
  };

  for (const [source, scheme, path] of [
    ["github", "github", ""],
    ["stripe", "stripe", "/cli-stripe"],
    ["shopify", "shopify", "/cli-shopify"],
    ["standard", "standard-webhooks", "/cli-standard"],
    ["mailgun", "mailgun", "/cli-mailgun"],
    ["discord", "discord", ""],
  ] as const) {
    it(`sends what the source ${source} accepts, and the same id only once`, async () => {
      const body =
        '{"id":"evt-cli","repository":{"full_name":"cli/cli"},"application_id":"cli-discord"}';
      const secret = source === "discord" ? discordPrivateKey : webhookSecrets[source];
      const args = ["--scheme", scheme, "--url", `${baseUrl}/webhooks/${source}${path}`];
      args.push("--secret", secret, "--id", `evt-${source}`);
      expect(await sent(body, ...args)).toMatch(/^200 .*"processed"/);
      expect(await sent(body, ...args)).toMatch(/^200 .*"duplicate"/);
    });
  }

  it("prints what the receiver says", async () => {
    const args = ["--scheme", "github", "--url", `${baseUrl}/webhooks/github`];
    args.push("--secret", webhookSecrets.github, "--id", "evt-process");
    const body = '{"id":"evt-cli","repository":{"full_name":"cli/cli"}}';
    expect(await run(body, ...args)).toMatch(/^200 .*"processed"/);
  });

  it("fails when the receiver refuses, and shows what it says", async () => {
    const url = `${baseUrl}/webhooks/github`;
    const failure = run("{}", "--scheme", "github", "--url", url, "--secret", "not the secret");
    await expect(failure).rejects.toMatchObject({ code: 1, stdout: /^401 / });
  });
});

describe("a body over the cap", () => {
  it("is 413 before it is sent, and the connection does not wait for it", async () => {
    const headers = { "content-length": String(2 ** 31), "x-signature": "sha256=00" };
    // A client that wants to keep the connection: only the server's own wish closes it.
    const agent = new Agent({ keepAlive: true });
    const outgoing = request(`${baseUrl}/webhooks/generic`, { method: "POST", agent, headers });
    const answered = new Promise<[number | undefined, string | undefined]>((resolve) => {
      outgoing.on("response", (response) => {
        response.resume();
        resolve([response.statusCode, response.headers.connection]);
      });
    });
    outgoing.on("error", () => undefined);
    outgoing.write("{");
    const [status, connection = ""] = await answered;
    expect(status).toBe(413);
    // Workers leaves connections to whoever is in front of it.
    if (inject("target") !== "workers") expect(connection).toMatch(/^close\b/);
    outgoing.destroy();
    agent.destroy();
  });
});
