import { type ApiError, notFound, conflict, invalidRequest } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { Secret } from "../signing/keys.ts";
import type {
  SourceReplacement,
  SourceRotation,
  SourceSettings,
} from "../inbound/source-schema.ts";
import type { SourceRegistry } from "./source-registry.ts";
import { joinSource, type SourceSecrets, splitSource } from "./source-secrets.ts";
import type { StoredSource } from "./stored-sources.ts";
import { parseInstant } from "../../http/fields/instant.ts";

/** Most characters of the settings and of the secrets of a source, as JSON. */
const SIZE_LIMIT = 32_768;
/** Most secrets of a source, or of an entity of it, at the same time: each is tried with whatever a stranger sends. */
const SECRET_LIMIT = 10;
/** Most entities and former names that all sources of the API name: each change reads those of all. */
const NAMED_LIMIT = 10_000;

/** Changes stored sources. Each throws 404 for an unknown one, 409 for one of the configuration, 400 for what cannot be right. */
export interface SourceChanges {
  create(name: string, given: SourceSettings, by: string): Promise<void>;
  /** Replaces the settings; secrets that are left out stay, and those that are null go. */
  replace(name: string, given: SourceReplacement, by: string): Promise<void>;
  /** Another secret; the old ones are taken along for a while. */
  rotate(name: string, rotation: SourceRotation, by: string): Promise<void>;
  remove(name: string): Promise<void>;
}

interface ChangeDeps {
  readonly registry: SourceRegistry;
  readonly system: System;
}

export function sourceChanges(registry: SourceRegistry, system: System): SourceChanges {
  const { store } = registry;
  const deps = { registry, system };
  return {
    async create(name, given, by) {
      checkUndeclared(registry, name);
      const reason = await store.create(await stored(deps, name, given, { by }));
      if (reason === null) return;
      const message =
        reason === "taken"
          ? `There is a source "${name}" already`
          : "An account has at most 200 sources of the API: delete one";
      throw conflict(message);
    },
    replace: (name, given, by) =>
      change(deps, { name, by }, (_settings, before) => {
        const {
          entitySecrets = before.entitySecrets,
          verifyToken = before.verifyToken,
          ...rest
        } = given;
        const { secrets: fresh, settings } = splitSource({
          ...rest,
          ...(entitySecrets && { entitySecrets }),
          ...(verifyToken && { verifyToken }),
        });
        const own = fresh.secrets.length > 0 ? fresh.secrets : before.secrets;
        return joinSource(settings, { ...fresh, secrets: own });
      }),
    rotate: (name, rotation, by) =>
      change(deps, { name, by }, (settings, secrets) =>
        joinSource(settings, { ...secrets, secrets: rotated(secrets, rotation, system.now()) }),
      ),
    async remove(name) {
      checkUndeclared(registry, name);
      if (!(await store.remove(name))) throw await unknownSource(registry, name);
    },
  };
}

/** The new secret, and the old ones until the end of the grace. */
function rotated(
  { secrets }: SourceSecrets,
  { secret, grace_seconds }: SourceRotation,
  now: number,
): Secret[] {
  const end = now + grace_seconds * 1000;
  const old = secrets
    .map((one) => ({ ...one, expiresAt: Math.min(endOf(one.expiresAt) ?? end, end) }))
    .filter(({ expiresAt, secret: text }) => expiresAt > now && text !== secret);
  return [{ secret }, ...old].slice(0, SECRET_LIMIT);
}

/** A source that is right beside the others, ready to be stored. */
async function stored(
  { registry, system }: ChangeDeps,
  name: string,
  given: SourceSettings,
  { by, createdAt = system.now() }: { readonly by: string; readonly createdAt?: number },
): Promise<StoredSource> {
  const { secrets, settings } = splitSource(given);
  const own = Object.values(secrets.entitySecrets ?? {}).map((one) => [one].flat());
  if ([secrets.secrets, ...own].some(({ length }) => length > SECRET_LIMIT))
    throw invalidRequest(`A source, and an entity of it, has at most ${SECRET_LIMIT} secrets`);
  for (const part of [secrets, settings])
    if (JSON.stringify(part).length > SIZE_LIMIT)
      throw invalidRequest(
        `A source has at most ${SIZE_LIMIT} characters of settings, and of secrets`,
      );
  // After the bounds: it looks at each name.
  await checkNamed(registry, name, given);
  await check(registry, name, given);
  return {
    name,
    settings,
    sealed: await registry.sealer.seal(name, secrets),
    expiries: secrets.secrets.map(({ expiresAt }) => endOf(expiresAt)),
    revision: system.id(),
    createdAt,
    modifiedAt: system.now(),
    modifiedBy: by,
  };
}

/** Throws 400 where the sources of the API would name too many entities together. */
async function checkNamed(
  registry: SourceRegistry,
  name: string,
  given: SourceSettings,
): Promise<void> {
  const { options, stored: all } = await registry.present();
  let named = namedBy(given);
  for (const other of all) if (other.name !== name) named += namedBy(options[other.name] ?? {});
  if (named > NAMED_LIMIT)
    throw invalidRequest(
      `The sources of the API name at most ${NAMED_LIMIT} entities and former names`,
    );
}

function namedBy({
  entities = [],
  entitySecrets = {},
  formerNames = [],
}: Pick<SourceSettings, "entities" | "entitySecrets" | "formerNames">): number {
  return entities.length + Object.keys(entitySecrets).length + formerNames.length;
}

async function change(
  deps: ChangeDeps,
  { name, by }: { readonly name: string; readonly by: string },
  next: (settings: StoredSource["settings"], secrets: SourceSecrets) => SourceSettings,
): Promise<void> {
  const { registry } = deps;
  checkUndeclared(registry, name);
  const before = (await registry.present()).stored.find((one) => one.name === name);
  if (before === undefined) throw await unknownSource(registry, name);
  const secrets = await registry.sealer.open(name, before.sealed);
  const source = next(before.settings, secrets ?? { secrets: [] });
  const after = await stored(deps, name, source, { by, createdAt: before.createdAt });
  if (await registry.store.replace(after, before.revision)) return;
  throw conflict("The source was changed at the same moment: read it again");
}

function checkUndeclared({ declared }: SourceRegistry, name: string): void {
  if (declared.has(name))
    throw conflict(`The source "${name}" is one of the configuration: change it there`);
}

async function check(
  registry: SourceRegistry,
  name: string,
  source: SourceSettings,
): Promise<void> {
  try {
    await registry.check(name, source);
  } catch (error) {
    // A fault of the options is told as at the start.
    throw error instanceof TypeError ? invalidRequest(error.message) : error;
  }
}

/** The end of a secret in Unix ms; null without one. */
function endOf(expiresAt: string | number | undefined): number | null {
  return typeof expiresAt === "string" ? parseInstant(expiresAt) : (expiresAt ?? null);
}

/** The error for a source that does not exist. */
export async function unknownSource(registry: SourceRegistry, name: string): Promise<ApiError> {
  const present = await registry.present();
  const known = [...registry.declared.keys(), ...present.stored.map((one) => one.name)];
  return notFound("webhook source", name, known);
}
