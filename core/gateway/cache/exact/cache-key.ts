import { whenReady } from "../../../work/now-or-later.ts";
import { quickSha256Hex } from "../../../crypto/digest.ts";
import type { OutboundRequest, System } from "../../../ports.ts";
import type { Call } from "../../call/call.ts";
import { asksForStream } from "../../chat/chat-body.ts";
import { asObject, boundedJson } from "../../../http/json.ts";
import type { StepRun } from "../../call/answers.ts";
import { sharingScope } from "../../call/caller.ts";
import { stepModel } from "../../providers/requested-model.ts";
import { jsonOf } from "../../wire/readable-body.ts";
import { actorName } from "../../account/settings/gateway-name.ts";
import { varyingHeaders } from "./varying-headers.ts";

/** Seconds that a caller's own cache key lives when nothing else says so (docs/compatibility.md). */
const CACHE_KEY_TTL = 300;

const CACHEABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

/** Returns the seconds for which an answer to this call may be cached; 0 = not at all. */
export function cacheTtl({ controls, settings }: Call): number {
  if (controls.skipCache === true) return 0;
  if (controls.cacheTtl !== undefined) return controls.cacheTtl;
  const usual = settings.cache_ttl ?? 0;
  return usual === 0 && controls.cacheKey !== undefined ? CACHE_KEY_TTL : usual;
}

/** A request that may have a cache key. */
export type CacheableRun = Pick<StepRun, "call" | "prepared" | "step">;

/**
 * Returns the cache key of a request, or null when it cannot have one. Everything that is sent and can change an answer is
 * in it: gateway, provider, address, headers (see `varying-headers.ts`) and body; and the callers who share answers,
 * because the provider credential in the headers may be the operator's, the same for all. A caller's own key replaces
 * address and body only. Whether a stream is wanted stays in the key, and so does the model of a caller who may not use
 * all.
 */
export function cacheKey(
  run: CacheableRun,
  system: System,
): Promise<string | null> | string | null {
  const { call, prepared } = run;
  const { target, request } = prepared;
  // A repeated deletion or change must reach the provider: an earlier answer cannot stand for it.
  if (request.body instanceof ReadableStream || !CACHEABLE.has(request.method)) return null;
  const { controls } = call;
  if (controls.cacheKey !== undefined) {
    const form = wantsStream(request) ? "stream" : "whole";
    const content = [
      "key",
      request.method,
      form,
      controls.cacheKey,
      ...allowedModel(run),
      ...queryCredentials(target.url),
    ];
    return keyOf(content, run, system);
  }
  const asked = (digest: string): Promise<string> | string =>
    keyOf([request.method, target.url, digest], run, system);
  return whenReady(quickSha256Hex(request.body ?? "", system), asked);
}

/**
 * Returns the model, for a virtual key of certain models: an answer of another one must not be found by a key of the
 * caller's.
 */
function allowedModel({ call, step }: CacheableRun): string[] {
  if (call.caller?.grant?.models == null) return [];
  return ["model", stepModel(step, jsonOf(step))];
}

function keyOf(
  content: readonly string[],
  { call, prepared }: CacheableRun,
  system: System,
): Promise<string> | string {
  const { settings } = call;
  const { target, request, bringsKey } = prepared;
  const identity = varyingHeaders(request.headers, target, settings.cache_ignore_headers ?? []);
  // An update that empties the cache makes a new generation, and so does a new gateway in the place of a deleted one.
  const generation = settings.cache_since ?? settings.created_at;
  const custom = target.custom?.generation ?? "";
  // A text that passed one set of checks might not pass another.
  const checks = [settings.dlp ?? null, settings.guardrails ?? null];
  const parts = [
    actorName(call.name),
    sharingScope(call, bringsKey),
    generation,
    JSON.stringify(checks),
    target.slug,
    custom,
    ...identity,
    "",
    ...content,
  ];
  return quickSha256Hex(JSON.stringify(parts), system);
}

/** Whether the answer is to be a stream: a caller's own key must not bring a client what it cannot read. */
function wantsStream({ url, body }: OutboundRequest): boolean {
  const [path = ""] = url.split("?", 1);
  if (/:stream\w+$/.test(path)) return true;
  if (!(body instanceof Uint8Array)) return false;
  const chat = asObject(boundedJson(new TextDecoder().decode(body)));
  return chat !== null && asksForStream(chat);
}

/** Keys in the query tell tenants apart like keys in headers do. */
function queryCredentials(url: string): string[] {
  const question = url.indexOf("?");
  return question === -1 ? [] : [url.slice(question)];
}
