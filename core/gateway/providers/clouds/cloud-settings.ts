import { didYouMean } from "../../../text/nearest.ts";
import { ownMember, parsedObject } from "../../../http/json.ts";
import { providerRow } from "../known/table.ts";
import type { CloudSecret, CloudSettings } from "../../account/settings/provider-options.ts";
import type { Cloud } from "../known/provider.ts";
import { readServiceAccount } from "./service-account.ts";

/** The text of a member, and the words for it in errors. */
interface Field {
  readonly pattern: RegExp;
  readonly expected: string;
}

const SECRET: Field = { pattern: /^[!-~]{1,4096}$/, expected: "printable ASCII without blanks" };
const ENTRA: Field = { pattern: /^[\w.-]{1,64}$/, expected: "an id of Entra" };
const REGION: Field = {
  pattern: /^[a-z]{2,12}(?:-[a-z\d]{1,12}){0,4}$/,
  expected: 'a region, such as "us-east-1"',
};

const fields: Readonly<Record<Cloud, Readonly<Record<string, Field>>>> = {
  azure: {
    resource: {
      pattern: /^[a-z\d](?:[a-z\d-]{0,62}[a-z\d])?$/i,
      expected: "the name of a resource",
    },
    apiVersion: {
      pattern: /^(?:\d{4}-\d\d-\d\d(?:-preview)?|preview)$/,
      expected: 'a version, such as "2024-10-21"',
    },
    tenantId: ENTRA,
    clientId: ENTRA,
    clientSecret: SECRET,
  },
  vertex: {
    project: { pattern: /^[a-z\d][a-z\d:.-]{0,62}$/, expected: "the id of a project" },
    region: REGION,
    serviceAccount: {
      pattern: /^\s*\{[^]{1,16384}\}\s*$/,
      expected: "the JSON of a service account's key",
    },
  },
  bedrock: {
    region: REGION,
    accessKeyId: { pattern: /^\w{16,128}$/, expected: "the id of an access key" },
    secretAccessKey: SECRET,
    sessionToken: SECRET,
  },
};

/** Members that have a meaning together alone. */
const together: readonly (readonly string[])[] = [
  ["tenantId", "clientId", "clientSecret"],
  ["accessKeyId", "secretAccessKey"],
];

/** Returns the cloud that a provider is; undefined for another provider. */
export function cloudOf(slug: string): Cloud | undefined {
  return providerRow(slug)?.cloud;
}

const names: readonly string[] = Object.values(fields).flatMap((own) => Object.keys(own));

/** Says which member of a provider's settings is at fault; null for none. Never tells a value. */
export function cloudProblem(slug: string, settings: CloudSettings): string | null {
  const given = Object.entries(settings).filter(([name, value]) => isSetting(name, value));
  const cloud = cloudOf(slug);
  const own = cloud === undefined ? {} : fields[cloud];
  for (const [name, value] of given) {
    const field = ownMember(own, name);
    if (field === undefined) return `"${name}" is not a setting of "${slug.slice(0, 64)}"`;
    if (typeof value !== "string" || !field.pattern.test(value))
      return `${name}: expected ${field.expected}`;
  }
  const set = new Set(given.map(([name]) => name));
  for (const group of together) {
    const missing = group.find((name) => !set.has(name));
    if (missing !== undefined && group.some((name) => set.has(name)))
      return `${missing}: needed beside ${group.filter((name) => set.has(name)).join(" and ")}`;
  }
  const { serviceAccount } = settings;
  return serviceAccount === undefined ? null : serviceAccountProblem(serviceAccount);
}

function isSetting(name: string, value: unknown): boolean {
  return value !== undefined && names.includes(name);
}

function serviceAccountProblem(text: string): string | null {
  return readServiceAccount(text) === null
    ? 'serviceAccount: expected the JSON of a key with "client_email" and "private_key"'
    : null;
}

/**
 * Reads a secret that is stored for a cloud: JSON of the settings, the JSON of a service account's key, or a plain key.
 * Returns what is wrong with it instead, in words that tell no value.
 */
export function readCloudSecret(slug: string, text: string): CloudSecret | string {
  if (!text.startsWith("{")) return { apiKey: text };
  const value = parsedObject(text);
  if (value === null) return "expected a key, or JSON of the provider's settings";
  if (value["type"] === "service_account" && cloudOf(slug) === "vertex")
    return serviceAccountProblem(text) ?? { serviceAccount: text };
  const cloud = cloudOf(slug);
  const known = ["apiKey", ...(cloud === undefined ? [] : Object.keys(fields[cloud]))];
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const guess = didYouMean(unknown, known);
    return `unknown member "${unknown.slice(0, 64)}"${guess === "" ? `: expected one of ${known.join(", ")}` : guess}`;
  }
  const { apiKey } = value;
  if (apiKey !== undefined && (typeof apiKey !== "string" || !SECRET.pattern.test(apiKey)))
    return `apiKey: expected ${SECRET.expected}`;
  return cloudProblem(slug, value) ?? value;
}

export function holdsCredential(settings: CloudSecret): boolean {
  const { apiKey, clientSecret, serviceAccount, secretAccessKey } = settings;
  return [apiKey, clientSecret, serviceAccount, secretAccessKey].some((one) => one !== undefined);
}
