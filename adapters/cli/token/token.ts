import { randomBytes } from "node:crypto";
import process from "node:process";
import { permissionGroups } from "../../../core/auth/permission-groups.ts";
import { permissions, type Permission } from "../../../core/auth/permissions.ts";
import { formatInstant, parseInstant } from "../../../core/http/fields/instant.ts";
import { newKey } from "../../../core/auth/token-format.ts";
import { choiceHint } from "../../../core/text/nearest.ts";
import { tokenTable, type TokenBody } from "./token-output.ts";
import { checkServerUrl, readOptions } from "../context/command-options.ts";
import { targetAccount, openTarget, type TargetOptions } from "./token-target.ts";

/** The text of `causey token --help`. */
export const tokenHelp: string = `Usage: causey token create --permission NAME [--permission NAME …] [options]
       causey token list [options]
       causey token revoke ID [options]
       causey token virtual-key

create: makes an API token and prints it once. Only its SHA-256 hash is stored.

  --permission NAME  What the token may do; may be given several times:
                     ${wrapped(permissions)}
  --gateway ID       Only this gateway; for the permissions of AI Gateway; may be given several times
  --expires WHEN     After a time such as 12h, 30d or 8w, or at a date such as 2030-01-01 [never]
  --name TEXT        A name for people [the permissions]

list: prints the tokens of the account, without their secrets. revoke: deletes one, at once and for good.
virtual-key: prints a new secret for a virtual key of the configuration (gateway.virtualKeys); nothing is stored.

  --data-dir DIR     The server's data directory; a running server applies the change at once [CAUSEY_DATA_DIR, else .causey]
  --config FILE      The server's configuration file [CAUSEY_CONFIG]
  --url URL          A running server instead; the token with the permission "API Tokens Edit" is read from CAUSEY_TOKEN
  --account-id ID    The account [CAUSEY_ACCOUNT_ID, else local]
  --json             JSON, one object a line
`;

/** A command of `causey token`, read from the command line. */
export type TokenCommand = TargetOptions & { readonly json: boolean } & (
    | {
        readonly command: "create";
        readonly permissions: readonly Permission[];
        readonly gateways: readonly string[];
        readonly expiresOn: string | undefined;
        readonly name: string;
      }
    | { readonly command: "list" }
    | { readonly command: "revoke"; readonly id: string }
  );

const text = { type: "string" } as const;
const texts = { type: "string", multiple: true } as const;
const where = { "data-dir": text, config: text, url: text, "account-id": text } as const;
const options = {
  ...where,
  permission: texts,
  gateway: texts,
  expires: text,
  name: text,
  json: { type: "boolean" },
} as const;
/** Options that `create` has alone. */
const ofCreate = ["permission", "gateway", "expires", "name"] as const;
const commands = ["create", "list", "revoke"] as const;

/** Reads the arguments after `token`; throws one line that says what is wrong. */
export function parseToken(args: readonly string[], now: number): TokenCommand {
  const { values, positionals } = readOptions(args, options);
  const [name = "", ...rest] = positionals;
  const command = commands.find((one) => one === name);
  const known = [...commands, "virtual-key"];
  if (command === undefined)
    throw new TypeError(`Unknown command "token ${name}"${choiceHint(name, known)}`);
  const { json = false, permission, gateway: gateways = [], expires, ...other } = values;
  checkTarget(other);
  if (command !== "create") {
    const alone = ofCreate.find((one) => values[one] !== undefined);
    if (alone !== undefined) throw new TypeError(`token ${command} has no option --${alone}`);
  }
  if (command === "revoke") return { ...other, command, json, id: checkId(rest) };
  if (rest.length > 0)
    throw new TypeError(
      `token ${command} takes no "${rest[0]}": a value with spaces needs quotation marks`,
    );
  if (command === "list") return { ...other, command, json };
  const names = (permission ?? []).map(checkPermission);
  if (names.length === 0)
    throw new TypeError('token create needs --permission, e.g. --permission "AI Gateway Run"');
  return {
    ...other,
    command,
    json,
    permissions: names,
    gateways: checkGateways(gateways, names),
    expiresOn: expires === undefined ? undefined : expiryOf(expires, now),
    name: other.name ?? names.join(", ").slice(0, 120),
  };
}

export function tokenBody(
  command: Extract<TokenCommand, { readonly command: "create" }>,
  account: string,
): TokenBody {
  const { permissions: names, gateways, expiresOn, name } = command;
  const scope =
    gateways.length === 0
      ? "*"
      : Object.fromEntries(
          gateways.map((id) => [`com.cloudflare.api.account.ai-gateway.${id}`, "*"] as const),
        );
  const groups = permissionGroups.filter((group) => names.includes(group.name));
  return {
    name,
    policies: [
      {
        effect: "allow",
        permission_groups: groups.map(({ id }) => ({ id })),
        resources: { [`com.cloudflare.api.account.${account}`]: scope },
      },
    ],
    ...(expiresOn === undefined ? {} : { expires_on: expiresOn }),
  };
}

/** Runs `causey token …`. The token alone goes to standard output, so that a script can take it. */
export async function tokenCommand(args: readonly string[]): Promise<void> {
  if (args.length === 0 || args.includes("--help") || args.includes("-h")) {
    process.stdout.write(tokenHelp);
    return;
  }
  if (args[0] === "virtual-key") {
    if (args.length > 1) throw new TypeError(`token virtual-key takes no "${args[1]}"`);
    return void process.stdout.write(`${newKey((length) => randomBytes(length))}\n`);
  }
  const command = parseToken(args, Date.now());
  const env = (name: string): string | undefined => process.env[name];
  const target = await openTarget(command, env);
  const print = (values: readonly object[]): void => {
    process.stdout.write(values.map((one) => `${JSON.stringify(one)}\n`).join(""));
  };
  try {
    if (command.command === "create") {
      const made = await target.create(tokenBody(command, targetAccount(command, env)));
      if (command.json) print([made]);
      else {
        process.stdout.write(`${made.value}\n`);
        process.stderr.write(
          `Shown this once. Id ${made.id}, ${made.expires_on === undefined ? "never expires" : `expires ${made.expires_on}`}\n`,
        );
      }
    } else if (command.command === "list") {
      const tokens = await target.list();
      if (command.json) print(tokens);
      else process.stdout.write(tokenTable(tokens));
    } else {
      await target.revoke(command.id);
      if (command.json) print([{ id: command.id }]);
      else process.stdout.write(`Revoked ${command.id}\n`);
    }
  } finally {
    await target.close();
  }
}

function checkTarget(target: TargetOptions): void {
  const { url } = target;
  checkServerUrl(url);
  if (url === undefined) return;
  if (target["data-dir"] !== undefined || target.config !== undefined)
    throw new TypeError("--url asks a server: leave out --data-dir and --config");
}

function checkPermission(name: string): Permission {
  const found = permissions.find((one) => one.toLowerCase() === name.trim().toLowerCase());
  if (found !== undefined) return found;
  const guess = choiceHint(name, permissions);
  throw new TypeError(`Unknown permission "${name}"${guess}`);
}

function checkGateways(ids: readonly string[], names: readonly Permission[]): readonly string[] {
  const other = names.find((name) => !name.startsWith("AI Gateway "));
  if (ids.length > 0 && other !== undefined)
    throw new TypeError(
      `--gateway is for the permissions of AI Gateway, and "${other}" is not one of them: make a separate token for it`,
    );
  const wrong = ids.find((id) => !/^(?!\.+$)[\w.-]{1,64}$/u.test(id));
  if (wrong !== undefined)
    throw new TypeError(`--gateway: "${wrong}" cannot be the id of a gateway`);
  return ids;
}

function checkId(rest: readonly string[]): string {
  const [id = "", ...more] = rest;
  if (/^[0-9a-f]{32}$/u.test(id) && more.length === 0) return id;
  // A secret is not repeated.
  const got = id === "" || id.startsWith("causey_") ? "" : `, got "${id}"`;
  throw new TypeError(
    `token revoke needs the one id of a token, 32 digits as "causey token list" shows it${got}`,
  );
}

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Returns the end of a token's time. */
function expiryOf(when: string, now: number): string {
  const [, amount = "", unit = ""] = /^(\d{1,6})([mhdw])$/u.exec(when) ?? [];
  const units: Readonly<Record<string, number>> = UNITS;
  const at = amount === "" ? parseInstant(when) : now + Number(amount) * (units[unit] ?? 0);
  if (at === null)
    throw new TypeError(
      `--expires: expected a time such as 12h, 30d or 8w, or a date such as 2030-01-01, got "${when}"`,
    );
  if (at <= now) throw new TypeError(`--expires: "${when}" is in the past`);
  return formatInstant(at);
}

function wrapped(names: readonly string[]): string {
  const lines: string[] = [];
  for (let at = 0; at < names.length; at += 5) lines.push(names.slice(at, at + 5).join(", "));
  return lines.join(",\n                     ");
}
