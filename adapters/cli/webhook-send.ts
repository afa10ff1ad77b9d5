import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { schemes, simulate, type SchemeName } from "../../core/webhooks/mod.ts";
import { didYouMean } from "../../core/text/nearest.ts";
import { checkServerUrl, commandFailure, readOptions } from "./context/command-options.ts";

/** How long an answer is waited for, in ms. */
const ANSWER_MS = 15_000;
/** Characters of an answer that are shown. */
const SHOWN = 4000;

/** The text of `causey webhook --help`. */
export const webhookHelp: string = `Usage: causey webhook send --scheme NAME --url URL --secret SECRET [options]
       causey webhook keys --scheme NAME [--json]

send: sends one webhook, signed like those of the provider.

  --scheme NAME     ${wrapped(Object.keys(schemes))}
  --url URL         The receiver, e.g. http://127.0.0.1:8787/webhooks/github
  --secret SECRET   The shared secret; for schemes with a public key, your private key (PKCS #8, or one that "keys"
                    printed); "env:NAME" reads the environment variable NAME
  --data FILE       The body; "-" reads standard input [a small JSON object]
  --id ID           Id of the event, e.g. to send it twice [a fresh one]
  --json            JSON, one object: "status" and "body", or the two keys
  --type TYPE       Type of the event, for providers that send it in a header [test]

Exit code 0 when the answer is 2xx, else 1.

keys: makes a key pair for a scheme of public keys: discord, sendgrid, standard-webhooks, svix, gitlab-signed.
The public key is the receiver's secret.
`;

/** A simulated webhook, read from the command line. */
export interface WebhookToSend {
  readonly scheme: SchemeName;
  readonly url: string;
  readonly secret: string;
  readonly body: Uint8Array;
  readonly id: string;
  readonly type: string;
}

/** The inputs of the command: environment, files and standard input. */
export interface SendEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file; `"-"` is standard input. */
  read(file: string): Uint8Array;
  readonly freshId: string;
}

const json = { json: { type: "boolean" } } as const;

/** Reads `send --scheme … --url … --secret …`; throws one line that says what is wrong. */
export function parseSend(args: readonly string[], input: SendEnvironment): WebhookToSend {
  const text = { type: "string" } as const;
  const options = {
    scheme: text,
    url: text,
    secret: text,
    data: text,
    id: text,
    type: text,
    ...json,
  };
  const { values, positionals } = readOptions(args, options);
  if (positionals.length !== 1 || positionals[0] !== "send")
    throw new TypeError(
      `Unknown command "webhook ${positionals.join(" ")}": there are "webhook send" and "webhook keys"`,
    );
  const { scheme, url, secret, data, id = input.freshId, type = "test" } = values;
  if (scheme === undefined || url === undefined || secret === undefined)
    throw new TypeError("webhook send needs --scheme, --url and --secret");
  checkScheme(scheme);
  checkServerUrl(url);
  const body = data === undefined ? sample(scheme, id) : input.read(data);
  return { scheme, url, secret: resolved(secret, input.env), body, id, type };
}

/** Reads `keys --scheme …`; throws one line that says what is wrong. */
export function parseKeys(args: readonly string[]): SchemeName {
  const { values, positionals } = readOptions(args, { scheme: { type: "string" }, ...json });
  const { scheme } = values;
  if (positionals.length !== 1 || scheme === undefined)
    throw new TypeError("webhook keys needs --scheme, and nothing else");
  checkScheme(scheme);
  return scheme;
}

/** Sends it; resolves to the status and what the answer says. */
export async function sendWebhook(
  webhook: WebhookToSend,
): Promise<{ readonly status: number; readonly text: string }> {
  const { scheme, url, secret, body, id, type } = webhook;
  const isForm = schemes[scheme].content.includes("{form}") && body[0] !== 0x7b;
  const contentType = isForm ? "application/x-www-form-urlencoded" : "application/json";
  const signed = await simulate(schemes[scheme], secret, {
    method: "POST",
    url,
    body,
    contentType,
    id,
    type,
    now: Date.now(),
  });
  const send = async (): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(url, {
      method: "POST",
      headers: signed.headers,
      body: new Uint8Array(signed.body),
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    isAnswering = true;
    return { status: response.status, text: (await response.text()).slice(0, SHOWN) };
  };
  let isAnswering = false;
  return send().catch((error: unknown) => {
    if (error instanceof Error && error.name === "TimeoutError")
      throw new Error(`${new URL(url).origin} gave no answer within ${ANSWER_MS / 1000} s`);
    if (isAnswering) throw new Error(`${new URL(url).origin} broke off its answer`);
    throw commandFailure(
      `No server answers at ${new URL(url).origin}`,
      "Start one, or correct --url",
    );
  });
}

/** Runs `causey webhook …`; the exit code says whether the receiver took it. */
export async function webhookCommand(args: readonly string[]): Promise<void> {
  if (args.length === 0 || args.includes("--help") || args.includes("-h")) {
    process.stdout.write(webhookHelp);
    return;
  }
  if (args[0] === "keys") {
    const { publicKey, privateKey } = webhookKeys(parseKeys(args));
    const lines = `public key: ${publicKey}\nprivate key: ${privateKey}`;
    const isJson = args.includes("--json");
    process.stdout.write(`${isJson ? JSON.stringify({ publicKey, privateKey }) : lines}\n`);
    return;
  }
  const webhook = parseSend(args, {
    env: process.env,
    read: (file) => readFileSync(file === "-" ? 0 : file),
    freshId: crypto.randomUUID(),
  });
  const { status, text } = await sendWebhook(webhook);
  const isJson = args.includes("--json");
  process.stdout.write(
    `${isJson ? JSON.stringify({ status, body: text }) : `${status} ${text}`}\n`,
  );
  if (status < 200 || status > 299) process.exitCode = 1;
}

function checkScheme(name: string): asserts name is SchemeName {
  if (!Object.hasOwn(schemes, name))
    throw new TypeError(`Unknown scheme "${name}"${didYouMean(name, Object.keys(schemes))}`);
}

function resolved(secret: string, env: SendEnvironment["env"]): string {
  if (!secret.startsWith("env:")) return secret;
  const value = env[secret.slice(4)];
  if (value === undefined || value === "")
    throw new TypeError(`The environment variable "${secret.slice(4)}" is not set`);
  return value;
}

/** Makes a body; `entity` is where the server's demo source `demo` looks for the entity. */
function sample(scheme: SchemeName, id: string): Uint8Array {
  const text = schemes[scheme].content.includes("{form}")
    ? new URLSearchParams({ MessageSid: id, Body: "test" }).toString()
    : JSON.stringify({ id, type: "test", entity: "test", message: "Sent by causey webhook send" });
  return new TextEncoder().encode(text);
}

function wrapped(names: readonly string[]): string {
  const half = Math.ceil(names.length / 2);
  return [names.slice(0, half), names.slice(half)]
    .map((part) => part.join(" "))
    .join("\n                    ");
}

/** A key pair in the forms that the receiver's source and `webhook send` take. */
export interface WebhookKeys {
  /** The receiver's `secret`. */
  readonly publicKey: string;
  /** The sender's `--secret`. */
  readonly privateKey: string;
}

/** Makes a fresh key pair for a scheme of public keys. Throws `TypeError` for one with a shared secret. */
export function webhookKeys(scheme: SchemeName): WebhookKeys {
  const { algorithm, secretForm } = schemes[scheme];
  if (algorithm === "ecdsa-p256") {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const text = { format: "der" } as const;
    return {
      publicKey: pair.publicKey.export({ ...text, type: "spki" }).toString("base64"),
      privateKey: pair.privateKey.export({ ...text, type: "pkcs8" }).toString("base64"),
    };
  }
  if (algorithm !== "ed25519" && secretForm !== "whsec")
    throw new TypeError(
      `The scheme "${scheme}" has a shared secret and no keys: choose one of at least 8 characters`,
    );
  const pair = generateKeyPairSync("ed25519");
  const [publicKey, privateKey] = [raw(pair.publicKey, "x"), raw(pair.privateKey, "d")];
  if (secretForm === "whsec") {
    return {
      publicKey: `whpk_${publicKey.toString("base64")}`,
      privateKey: `whsk_${privateKey.toString("base64")}`,
    };
  }
  return { publicKey: publicKey.toString("hex"), privateKey: privateKey.toString("hex") };
}

/** Returns the 32 bytes of a key (RFC 8037, section 2). */
function raw(key: KeyObject, member: "x" | "d"): Buffer {
  return Buffer.from(String(key.export({ format: "jwk" })[member]), "base64url");
}
