import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import * as v from "valibot";
import type { Principal } from "../../../core/auth/principal.ts";
import { tokenInputSchema } from "../../../core/auth/token-schema.ts";
import { tokenStore } from "../../../core/auth/token-store.ts";
import { createToken, getToken, listTokens } from "../../../core/auth/tokens.ts";
import { parse } from "../../../core/http/fields/body.ts";
import type { Log } from "../../../core/ports.ts";
import { protocolOf } from "../../processes/owner-connection.ts";
import { visitingActors } from "../../processes/visiting-actors.ts";
import { openDataDir } from "../../shared/data-dir.ts";
import { jsonLog } from "../../shared/log/standard-log.ts";
import { localSystem } from "../../shared/system.ts";
import { commandFailure } from "../context/command-options.ts";
import { reach } from "../context/console-link.ts";
import { defaults, effectiveConfig } from "../context/settings.ts";
import { shownTokenSchema, type ShownToken, type TokenBody } from "./token-output.ts";

/** The store of the tokens: a data directory, or a server. */
export interface TokenTarget {
  create(body: TokenBody): Promise<ShownToken>;
  list(): Promise<ShownToken[]>;
  revoke(id: string): Promise<void>;
  close(): Promise<void>;
}

/** Which target a command line names, and the account. */
export interface TargetOptions {
  readonly url?: string;
  readonly "data-dir"?: string;
  readonly "account-id"?: string;
  readonly config?: string;
}

type ReadEnv = (name: string) => string | undefined;

const PAGE = 100;

const tokensSchema = v.array(shownTokenSchema);

/** The owner of a data directory. Write access to the directory already allows everything. */
const OWNER: Principal = {
  id: "command",
  kind: "token",
  grants: [{ permissions: ["*"], accounts: ["*"] }],
};

/** Returns the account whose tokens are meant. */
export function targetAccount(options: TargetOptions, env: ReadEnv): string {
  if (options.url === undefined) return configOf(options, env).accountId;
  return options["account-id"] ?? env("CAUSEY_ACCOUNT_ID") ?? defaults.accountId;
}

/** Opens what a command line names. Throws one line that says why that cannot be. */
export async function openTarget(options: TargetOptions, env: ReadEnv): Promise<TokenTarget> {
  const account = targetAccount(options, env);
  if (options.url !== undefined)
    return serverTarget(options.url, account, env("CAUSEY_TOKEN") ?? "");
  const { dataDir, isElsewhere } = configOf(options, env);
  if (isElsewhere)
    throw commandFailure(
      "The tokens are in a PostgreSQL database, and not in the data folder",
      "Name the server with --url",
    );
  return folderTarget(dataDir, account);
}

/** Returns the data folder that is meant. */
export function dataDirOf(options: TargetOptions, env: ReadEnv): string {
  const { dataDir, isElsewhere } = configOf(options, env);
  if (isElsewhere)
    throw commandFailure(
      "The state is in a PostgreSQL database, and not in the data folder",
      "Use pg_dump and pg_restore",
    );
  return dataDir;
}

interface Place {
  readonly dataDir: string;
  readonly accountId: string;
  /** Whether the state is in a database outside of the folder. */
  readonly isElsewhere: boolean;
}

function configOf(options: TargetOptions, env: ReadEnv): Place {
  const names = ["config", "data-dir", "account-id"] as const;
  const flags = new Map(
    names.flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
  const config = effectiveConfig(flags, env, (path) => readFileSync(path, "utf8"));
  const { dataDir = defaults.dataDir, accountId = defaults.accountId } = config;
  return { dataDir, accountId, isElsewhere: config.database !== undefined };
}

async function folderTarget(dataDir: string, owner: string): Promise<TokenTarget> {
  if (!existsSync(join(dataDir, "causey.db")))
    throw commandFailure(
      `There are no tokens in "${dataDir}", where no server has run`,
      "Name its folder with --data-dir, or the server with --url",
    );
  const log: Log = (level, ...what) => {
    if (level !== "info") jsonLog(level, ...what);
  };
  const visiting = await visitingActors({
    folder: openDataDir(dataDir),
    speaks: protocolOf(runtimeName()),
    log,
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}, or ask the server with --url`);
  });
  const system = localSystem(log);
  const deps = { store: tokenStore(visiting), system, caller: OWNER, owner };
  const all = { page: 1, per_page: Number.MAX_SAFE_INTEGER, direction: "asc" } as const;
  return {
    create: async (body) =>
      parse(shownTokenSchema, await createToken(parse(tokenInputSchema, body), deps)),
    list: async () =>
      parse(tokensSchema, (await listTokens({ ...all, include_expired: true }, deps)).tokens),
    async revoke(id) {
      await getToken(id, deps);
      await deps.store.remove(owner, id);
    },
    close: () => visiting.close(),
  };
}

function runtimeName(): string {
  if (process.versions["bun"] !== undefined) return "bun";
  return process.versions["deno"] === undefined ? "node" : "deno";
}

function serverTarget(url: string, account: string, token: string): TokenTarget {
  if (token === "")
    throw new TypeError(
      '--url needs a token with the permission "API Tokens Edit" in the environment variable CAUSEY_TOKEN',
    );
  const root = `client/v4/accounts/${encodeURIComponent(account)}/tokens`;
  const base = new URL(root, url.endsWith("/") ? url : `${url}/`);
  const ask = async (method: string, path: string, body?: TokenBody): Promise<unknown> => {
    const response = await reach(
      new Request(`${base.href}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "manual",
      }),
    );
    // `as`: the server's own envelope.
    const answer = (await response.json().catch(() => ({}))) as {
      result?: unknown;
      errors?: { message: string }[];
    };
    if (response.ok && answer.result !== undefined) return answer.result;
    throw new Error(
      `The server answered ${response.status}: ${answer.errors?.[0]?.message ?? "this is not the API of causey"}`,
    );
  };
  return {
    create: async (body) => parse(shownTokenSchema, await ask("POST", "", body)),
    async list() {
      const found: ShownToken[] = [];
      for (let page = 1; ; page++) {
        const query = `?include_expired=true&direction=asc&per_page=${PAGE}&page=${page}`;
        const tokens = parse(tokensSchema, await ask("GET", query));
        found.push(...tokens);
        if (tokens.length < PAGE) return found;
      }
    },
    async revoke(id) {
      await ask("DELETE", `/${encodeURIComponent(id)}`);
    },
    close: async () => undefined,
  };
}
