import { type NowOrLater, whenReady } from "../../work/now-or-later.ts";
import { checkName, guardedName, nameFromId } from "../../entity/name.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Delivery } from "./delivery.ts";
import { firstTextAt, type Payload } from "../signing/pick.ts";
import type { Secrets, WebhookSource } from "./source.ts";

export interface Entity {
  readonly name: string;
  /** The identifier in the payload before it became a name; null when path or header named the entity. */
  readonly canonical: string | null;
}

export type SecretOwner = Entity & { readonly secrets: Secrets };

/** The entity that path or header names, if it has secrets of its own: then its signature is what binds it. */
export function ownerOf({ source, request, pathName }: Delivery): SecretOwner | null {
  if (source.ofEntity.size === 0) return null;
  const header = source.entity.from === "header" ? request.headers.get(source.entity.name) : null;
  const name = pathName ?? header;
  const secrets = name === null ? undefined : source.ofEntity.get(name);
  return name === null || secrets === undefined ? null : { name, canonical: null, secrets };
}

/** The entity of a verified event. Throws 400 without one, 401 for one that has secrets of its own. */
export function entityFor(
  delivery: Delivery,
  owner: SecretOwner | null,
  payload: Payload,
): NowOrLater<Entity> {
  if (owner !== null) return owner;
  return whenReady(entityOf(delivery, payload), (entity) => withoutSecret(delivery, entity));
}

function withoutSecret({ source }: Delivery, entity: Entity): Entity {
  if (!source.ofEntity.has(entity.name)) return entity;
  const message = "The entity has a secret of its own: sign with it and send to the entity's path";
  throw new ApiError("signature_invalid", { message, cause: "entity_secret" });
}

function entityOf({ source, request, pathName }: Delivery, payload: Payload): NowOrLater<Entity> {
  const { entity: from, fallbackEntity = null } = source;
  if (from.from === "payload") return entityInPayload(source, from.path, pathName, payload);
  const header = from.from === "header" ? request.headers.get(from.name) : null;
  const name = pathName ?? header ?? fallbackEntity;
  if (name !== null) return { name: checkName(name), canonical: null };
  const message =
    from.from === "header"
      ? `The header ${from.name} is missing`
      : `The entity identifier is missing: send to /webhooks/${source.name}/{entity_id}`;
  throw new ApiError("entity_missing", { message });
}

function entityInPayload(
  { fallbackEntity, scheme }: WebhookSource,
  paths: readonly string[],
  pathName: string | null,
  payload: Payload,
): NowOrLater<Entity> {
  const canonical = firstTextAt(payload, paths) ?? scheme.entityDefault ?? "";
  if (canonical !== "") {
    const name = nameFromId(canonical);
    const isNamed = pathName === null || pathName === name || pathName === canonical;
    return isNamed ? { name, canonical } : boundEntity(pathName, canonical);
  }
  if (fallbackEntity !== undefined && (pathName ?? fallbackEntity) === fallbackEntity)
    return { name: fallbackEntity, canonical: null };
  throw new ApiError("entity_missing", {
    message: `The payload names no entity: it has no ${listed(paths)}`,
  });
}

function listed(paths: readonly string[]): string {
  return paths.length === 1
    ? String(paths[0])
    : `${paths.slice(0, -1).join(", ")} or ${paths.at(-1)}`;
}

/** A body signature does not cover the path: without this check, a valid body could be sent to any entity. */
async function boundEntity(pathName: string, canonical: string): Promise<Entity> {
  if (pathName === (await guardedName(canonical))) return { name: pathName, canonical };
  throw new ApiError("entity_missing", {
    message: "The entity identifier in the path is not the one in the payload",
  });
}
