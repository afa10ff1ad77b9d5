import type { Context } from "hono";
import type { ActorClient } from "../../actors/actor-client.ts";
import { checkAccountId } from "../../auth/accounts.ts";
import { newKey } from "../../auth/token-format.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { toHex } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import { readJson } from "../../http/fields/body.ts";
import { checkFuture } from "../../http/fields/instant.ts";
import { envelope } from "../../http/envelope.ts";
import type { System } from "../../ports.ts";
import {
  gatewayNameOf,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type GatewayManagementDeps,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";
import { DEFAULT_GATEWAY } from "../account/settings/settings.ts";
import type { KeyMethods, KeyWithUsage } from "../account/keys/keys-actor.ts";
import {
  changed,
  keyChange,
  keyCreate,
  keyRotation,
  keySettings,
  keyView,
  type KeySettings,
  type VirtualKey,
} from "../account/keys/virtual-key.ts";

/** The virtual keys of an account: `…/virtual-keys`. */
export const virtualKeyRoutes: ManagementRoutes = (app, deps) => {
  const { keys: store, auth, platform } = deps;
  const { system } = platform;
  const { read, edit } = guards(auth);
  const path = `${MANAGEMENT_ROOT}/virtual-keys`;
  const account = (c: Context): string => gatewayNameOf(c).account;
  const keys = (c: Context): ActorClient<KeyMethods> => store.at(account(c));
  const found = async (c: Context): Promise<KeyWithUsage> => {
    const shown = await keys(c).get(idOf(c));
    if (shown !== null) return shown;
    throw new ApiError("not_found", {
      message: `There is no virtual key "${idOf(c).slice(0, 64)}" in this account`,
    });
  };
  const show = ({ key, usage }: KeyWithUsage): Record<string, unknown> => keyView(key, usage);

  app.get(path, read, async (c) => {
    const page = pageOfQuery(c, ["search", "owner", "team"]);
    const search = (c.req.query("search") ?? "").slice(0, 128);
    const query = { search, owner: c.req.query("owner"), team: c.req.query("team") };
    const listed = await keys(c).list(query, page.offset, page.perPage);
    return listAnswer(listed.keys.map(show), page, listed.total);
  });
  app.post(path, edit, async (c) => {
    checkAccountId(account(c));
    const settings = keySettings(await readJson(c, keyCreate, { platform }));
    checkFuture("expires_at", settings.expires_at, system.now());
    const messages = await gatewayNotes(account(c), settings, null, deps);
    const { key, secret } = await made(settings, system);
    return envelope({ ...show(await keys(c).create(key)), key: secret }, { messages });
  });
  app.get(`${path}/:id`, read, async (c) => envelope(show(await found(c))));
  for (const method of ["put", "patch"] as const) {
    app[method](`${path}/:id`, edit, async (c) => {
      const change = await readJson(c, keyChange, { platform });
      const { key } = await found(c);
      const settings = changed(key.settings, change);
      const messages = await gatewayNotes(account(c), settings, key.settings, deps);
      const next = { ...key, settings, modifiedAt: later(key, system) };
      return envelope(show(await keys(c).replace(next, key.modifiedAt)), { messages });
    });
  }
  app.post(`${path}/:id/rotate`, edit, async (c) => {
    const { grace_seconds: grace } = await readJson(c, keyRotation, { platform, optional: true });
    const { key } = await found(c);
    const { next, secret } = await rotated(key, grace, system);
    const shown = show(await keys(c).replace(next, key.modifiedAt));
    return envelope({ ...shown, key: secret });
  });
  app.delete(`${path}/:id`, edit, async (c) => {
    const shown = await found(c);
    await keys(c).remove(shown.key.id);
    return envelope(show(shown));
  });
};

/** Our own number for a note, as that of unknown fields. */
const NOTE_CODE = 10415;

interface Note {
  readonly code: number;
  readonly message: string;
}

/**
 * Lists notes about gateways that do not exist where another has nearly their name. Such a name can be right: gateways may
 * be made after their keys, and those of before may have been deleted.
 */
async function gatewayNotes(
  account: string,
  { gateways }: KeySettings,
  former: KeySettings | null,
  { store }: Pick<GatewayManagementDeps, "store">,
): Promise<Note[]> {
  const notes: Note[] = [];
  for (const gateway of gateways ?? []) {
    if (gateway === DEFAULT_GATEWAY || former?.gateways?.includes(gateway) === true) continue;
    const name = { account, gateway };
    if ((await store.settings(name)) !== null) continue;
    const hint = await store.hint(name);
    if (hint === "") continue;
    const message = `gateways: there is no gateway "${gateway.slice(0, 64)}" yet${hint}`;
    notes.push({ code: NOTE_CODE, message });
  }
  return notes;
}

async function made(
  settings: KeySettings,
  system: System,
): Promise<{ key: VirtualKey; secret: string }> {
  const { secret, ...own } = await newSecret(system);
  const now = system.now();
  const former = { formerHash: null, formerUntil: null };
  const times = { createdAt: now, modifiedAt: now, lastUsedAt: null };
  return {
    key: { id: toHex(system.random(16)), ...own, ...former, settings, declared: false, ...times },
    secret,
  };
}

/** The key with a new secret; the former one opens for `grace` more seconds. */
async function rotated(
  key: VirtualKey,
  grace: number,
  system: System,
): Promise<{ next: VirtualKey; secret: string }> {
  const { secret, ...own } = await newSecret(system);
  const former =
    grace === 0
      ? { formerHash: null, formerUntil: null }
      : { formerHash: key.hash, formerUntil: system.now() + grace * 1000 };
  return { next: { ...key, ...own, ...former, modifiedAt: later(key, system) }, secret };
}

/** A fresh secret, shown once, and what is kept of it. */
async function newSecret(
  system: System,
): Promise<{ secret: string; hash: string; ending: string }> {
  const secret = newKey((length) => system.random(length));
  return { secret, hash: await sha256Hex(secret), ending: secret.slice(-4) };
}

/** Strictly increasing, because it also tells versions of a key apart. */
function later({ modifiedAt }: VirtualKey, system: System): number {
  return Math.max(system.now(), modifiedAt + 1);
}
