import { ApiError, conflict } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { GatewayPage } from "../account/gateways/account-actor.ts";
import type { ListPage } from "./list-page.ts";
import {
  type GatewayChanges,
  type GatewaySettings,
  initialSettings,
  isGatewayId,
  withChanges,
} from "../account/settings/settings.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { GatewayStore } from "../account/gateways/store.ts";

/** Lists an account's gateways whose id contains `search`, ordered by id. */
export function listGateways(
  account: string,
  search: string,
  page: ListPage,
  store: GatewayStore,
): Promise<GatewayPage> {
  return store.list(account, search.slice(0, 64), page.offset, page.perPage);
}

/** Creates a gateway; throws `conflict` when its id is taken. */
export async function createGateway(
  account: string,
  body: GatewayChanges & { id: string },
  store: GatewayStore,
  system: System,
): Promise<GatewaySettings> {
  const { id, ...changes } = body;
  // A declared gateway may exist without having been touched yet.
  if ((await store.settings({ account, gateway: id })) !== null) {
    throw conflict(`Gateway "${id}" already exists`);
  }
  const now = system.now();
  // On unless switched off: what a client forgets must not open a gateway to strangers.
  const settings = initialSettings(id, now, changes.authentication ?? true);
  return store.create(account, withChanges(settings, changes, now));
}

/** Shows a gateway; throws `not_found`. */
export async function getGateway(name: GatewayName, store: GatewayStore): Promise<GatewaySettings> {
  const settings = isGatewayId(name.gateway) ? await store.settings(name) : null;
  if (settings === null) throw await notFound(name, store);
  return settings;
}

/** Changes a gateway; what the body leaves out keeps its value. */
export async function updateGateway(
  name: GatewayName,
  changes: GatewayChanges,
  store: GatewayStore,
): Promise<GatewaySettings> {
  // Makes a declared gateway that was not used yet.
  await getGateway(name, store);
  const changed = await store.update(name, changes);
  if (changed === null) throw await notFound(name, store);
  return changed;
}

/** Deletes a gateway with its log; a declared one would come back, so that is refused. */
export async function deleteGateway(
  name: GatewayName,
  declared: boolean,
  store: GatewayStore,
): Promise<GatewaySettings> {
  const settings = await getGateway(name, store);
  if (declared) {
    throw conflict(`Gateway "${name.gateway}" is declared in the configuration: remove it there`);
  }
  await store.remove(name);
  return settings;
}

/** Makes the error for a gateway that does not exist. */
async function notFound(name: GatewayName, store: GatewayStore): Promise<ApiError> {
  return new ApiError("not_found", {
    message: `There is no gateway "${name.gateway.slice(0, 64)}" in this account${await store.hint(name)}`,
  });
}
