import { ApiError } from "../../http/api-error.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import type { ActorClient } from "../../actors/actor-client.ts";
import { listAsItIs } from "../../actors/list-as-it-is.ts";
import { type Directory, directoryAt } from "../directory/directory.ts";
import { type Instance, instanceAt } from "../actor/instance-client.ts";
import { changedSettings, type InstanceSettings, newSettings } from "../state/instance-settings.ts";
import type { SettingsChanges } from "../state/instance-schema.ts";
import { sourceOf } from "../state/check-source.ts";
import { sealSourceHeaders } from "../directory/source-headers.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { modelNames } from "../models/models.ts";
import { publicEndpointsOf } from "../directory/public-endpoints.ts";

/** Creates an instance. Throws 7022 when the id is taken. */
export async function createInstance(
  account: string,
  namespace: string,
  body: SettingsChanges & { readonly id: string },
  options: SearchOptions,
): Promise<InstanceSettings> {
  const { platform } = options;
  const given = newSettings(body, {
    namespace,
    now: formatInstant(platform.system.now()),
    names: modelNames(options),
    options,
  });
  const settings = await withSource(account, given, null, options);
  const directory = directoryAt(platform, account);
  let isTaken = false;
  try {
    await directory.reserve(settings);
  } catch (error) {
    if (!isTakenId(error)) throw error;
    isTaken = true;
  }
  const instance = instanceAt(platform, { account, namespace, id: settings.id });
  try {
    await listEndpoint(account, settings, options);
    await instance.create(settings);
  } catch (error) {
    if (!isTaken && !isTakenId(error)) await directory.drop(settings);
    throw error;
  }
  // A process that was killed had taken the id and made nothing of it, or its instance is just being deleted.
  if (isTaken) await listInstance(directory, instance, settings);
  return settings;
}

function isTakenId(error: unknown): boolean {
  return error instanceof ApiError && error.kind === "name_exists";
}

/** Lists an instance: it may be deleted, and even another one made, before the directory hears of this. */
function listInstance(
  directory: ActorClient<Directory>,
  instance: Instance,
  settings: InstanceSettings,
): Promise<void> {
  const listed = {
    read: () => existing(instance),
    put: (there: InstanceSettings) => directory.put(there),
    remove: async (last: InstanceSettings | null) => {
      if (last !== null) await directory.drop(last);
    },
  };
  return listAsItIs(listed, settings);
}

async function existing(instance: Instance): Promise<InstanceSettings | null> {
  try {
    return await instance.read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Changes an instance; what the body leaves out stays. */
export async function updateInstance(
  account: string,
  instance: Instance,
  changes: SettingsChanges,
  options: SearchOptions,
): Promise<InstanceSettings> {
  const { platform } = options;
  const old = await instance.read();
  const given = changedSettings(old, changes, {
    now: formatInstant(platform.system.now()),
    names: modelNames(options),
    options,
  });
  const settings = await withSource(account, given, old, options);
  await listEndpoint(account, settings, options);
  await instance.change(settings);
  await listInstance(directoryAt(platform, account), instance, settings);
  return settings;
}

/** Deletes an instance with all its items. */
export async function deleteInstance(
  account: string,
  instance: Instance,
  { platform }: SearchOptions,
): Promise<InstanceSettings> {
  const settings = await instance.destroy();
  await directoryAt(platform, account).drop(settings);
  const { public_endpoint_id: endpoint } = settings;
  if (endpoint != null) await publicEndpointsOf(platform).drop(endpoint);
  return settings;
}

/** Lists the public endpoint that settings open. It is listed before they are stored: a listed endpoint that is closed answers no request. */
async function listEndpoint(
  account: string,
  { public_endpoint_id: endpoint, public_endpoint_params: params, ...place }: InstanceSettings,
  { platform }: SearchOptions,
): Promise<void> {
  if (endpoint == null || params?.enabled !== true) return;
  const { namespace, id } = place;
  await publicEndpointsOf(platform).put(endpoint, { account, namespace, id });
}

/** Checks the source of settings as far as others have to be asked, and seals its headers. */
async function withSource(
  account: string,
  settings: InstanceSettings,
  old: InstanceSettings | null,
  options: SearchOptions,
): Promise<InstanceSettings> {
  await checkToken(account, settings, options);
  const { type, source, source_params: params } = settings;
  if (type === old?.type && source === old?.source && params === old?.source_params)
    return settings;
  const site = type === "web-crawler" ? sourceOf(settings, options) : null;
  if (site?.kind === "site") await options.crawler?.check(site.wish);
  return sealSourceHeaders(options, account, settings, old);
}

/** Throws 7012 for a token that is not stored. */
async function checkToken(
  account: string,
  { token_id: id }: InstanceSettings,
  { platform }: SearchOptions,
): Promise<void> {
  if (id == null) return;
  await directoryAt(platform, account)
    .token(id)
    .catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      throw new ApiError("instance_invalid_token", {
        message: `instance_invalid_token: token_id: no token has the id "${id}"`,
      });
    });
}
