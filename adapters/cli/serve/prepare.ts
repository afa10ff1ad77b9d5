import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { invalidRequest } from "../../../core/http/api-error.ts";
import type { Config } from "../../../core/config/config.ts";
import { watchedEnvironment } from "../context/environment.ts";
import { secretOf, type StoredSecret } from "./secrets.ts";
import { defaults, effectiveConfig } from "../context/settings.ts";

/** Everything that a start needs to know, before any server exists. */
export interface Prepared {
  /** The configuration with the demo's webhook source added. */
  readonly config: Config;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly accountId: string;
  /** The API token with every permission. `path` is null when the environment gave it. */
  readonly token: StoredSecret;
  /** The secret of the webhook source `demo`; null without a demo. */
  readonly demoSecret: string | null;
}

/** Settles the configuration and the token for a start with these flags. */
export function prepare(
  flags: ReadonlyMap<string, string>,
  variables: Readonly<Record<string, string | undefined>>,
): Prepared {
  const environment = watchedEnvironment(variables);
  const env = environment.read;
  const config = effectiveConfig(flags, env, (path) => readFileSync(path, "utf8"));
  environment.checkNames();
  const dataDir = config.dataDir ?? defaults.dataDir;
  const token = secretOf(
    checkToken(env("CAUSEY_TOKEN")),
    dataDir,
    "token",
    () => `causey_${randomText()}`,
  );
  const demoSecret =
    config.demo === false
      ? null
      : secretOf(undefined, dataDir, "demo-webhook-secret", randomText).value;
  return {
    config: demoSecret === null ? config : withDemoSource(config, demoSecret),
    host: config.host ?? defaults.host,
    port: config.port ?? defaults.port,
    dataDir,
    accountId: config.accountId ?? defaults.accountId,
    token,
    demoSecret,
  };
}

/** It may do everything, so it is not to be guessed: the same bounds as for tokens of the file. */
function checkToken(token: string | undefined): string | undefined {
  if (token === undefined || token === "" || /^[!-~]{16,512}$/.test(token)) return token;
  throw invalidRequest(
    "CAUSEY_TOKEN: expected 16 to 512 printable ASCII characters without spaces",
  );
}

function randomText(): string {
  return randomBytes(30).toString("base64url");
}

function withDemoSource(config: Config, secret: string): Config {
  const demo = { scheme: "generic", secret, entity: { from: "payload", path: "entity" } } as const;
  const sources = { demo, ...config.webhooks?.sources };
  return { ...config, webhooks: { ...config.webhooks, sources } };
}
