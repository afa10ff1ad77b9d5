import { BoundedSet } from "../../work/bounded-map.ts";
import { isInRange, LARGEST_COUNT, LONGEST_DAYS } from "../../http/fields/bounded-number.ts";
import type {
  EntitySource,
  FixedAnswer,
  SourceOptions,
  RetentionOptions,
} from "./source-options.ts";
import { agentKindName, kebab } from "../../entity/kebab.ts";
import type { EventAnswer, Retention } from "../../entity/event.ts";
import { checkName } from "../../entity/name.ts";
import type { DeliveryRetention } from "../outbound/messages.ts";
import { choiceHint } from "../../text/nearest.ts";
import type { NowOrLater } from "../../work/now-or-later.ts";
import type { Actors } from "../../ports.ts";
import type { NameSpace } from "./name-space.ts";
import { plainNames } from "./plain-names.ts";
import { prepareKey, type Key, type Secret } from "../signing/keys.ts";
import { remoteKeys, type RemoteDeps } from "../signing/remote-keys.ts";
import { prepareHandshakes, type Handshakes } from "./handshake.ts";
import { prepareForward, type SourceForward } from "./forward.ts";
import { prepareFields, type RecordReader } from "./record.ts";
import { defineScheme, type Scheme } from "../signing/scheme.ts";
import { schemeNamed, schemes } from "../signing/schemes.ts";

/** Entities that a source remembers. A forgotten one costs another lookup. */
const REMEMBERED = 10_000;

/** A source that is checked and ready: its keys are imported once. */
export interface WebhookSource {
  readonly name: string;
  readonly scheme: Scheme;
  /** The secrets of all entities without secrets of their own. */
  readonly shared: Secrets;
  readonly ofEntity: ReadonlyMap<string, Secrets>;
  readonly reader: RecordReader;
  readonly handshakes: Handshakes;
  readonly entity: EntityRule;
  readonly fallbackEntity: string | undefined;
  readonly space: NameSpace;
  /** Whether {@link NameSpace.isAlone} of its space still holds. */
  readonly isStillAlone: () => Promise<boolean>;
  /** Whether it may take unclaimed plain names, see {@link plainNames}. */
  readonly takesPlainNames: () => NowOrLater<boolean>;
  /** Entities whose plain name belongs to another space, as found before. */
  readonly prefixedEntities: Set<string>;
  readonly agentKind: string;
  readonly agentClass: string;
  readonly respond: "processed" | "queued";
  /** The time that a sender waits for the handler's answer, in ms. */
  readonly answerMs: number;
  /** The answer to events whose handler gives none; null for that of the API. */
  readonly answer: EventAnswer | null;
  readonly publicUrl: string | undefined;
  /** How its events are sent on; null if they are not. */
  readonly forward: SourceForward | null;
  readonly bodyWindowMs: number;
  readonly retention: Retention;
}

/** An {@link EntitySource} made ready: its paths are a list. */
export type EntityRule =
  | { readonly from: "payload"; readonly path: readonly string[] }
  | { readonly from: "header"; readonly name: string }
  | { readonly from: "path" };

/** Secrets made ready. */
export interface Secrets {
  readonly keys: readonly Key[];
  /** The first secret, for handshakes that are answered with an HMAC; empty when there is none. */
  readonly first: string;
}

/** Senders expect an answer within seconds; a handler that needs longer goes on behind a 202. */
const ANSWER_MS = 5000;

const DAY_MS = 86_400_000;

/**
 * Checks retention settings; throws `TypeError`.
 *
 * @example
 * ```ts
 * import { prepareRetention } from "causey/webhooks";
 *
 * const retention = prepareRetention({ maxAgeDays: 7 });
 * ```
 */
export function prepareRetention(options: RetentionOptions = {}): Retention {
  const { maxEvents = null, maxAgeDays = 30 } = options;
  checkBounds({ maxEvents, maxAgeDays });
  return { maxEvents, maxAgeMs: daysMs(maxAgeDays) };
}

/** Checks the retention of deliveries; throws `TypeError`. */
export function prepareDeliveryRetention(options: RetentionOptions = {}): DeliveryRetention {
  const { deadDeliveryDays = 90, deliveryDays = 30 } = options;
  checkBounds({ deadDeliveryDays, deliveryDays });
  return { settledMs: daysMs(deliveryDays), deadMs: daysMs(deadDeliveryDays) };
}

function daysMs(days: number | null): number | null {
  return days === null ? null : days * DAY_MS;
}

function checkBounds(bounds: Readonly<Record<string, number | null>>): void {
  for (const [name, value] of Object.entries(bounds)) {
    const max = name === "maxEvents" ? LARGEST_COUNT : LONGEST_DAYS;
    if (value !== null && !isInRange(value, { min: 1, max, whole: true }))
      throw new TypeError(
        `retention.${name} must be a whole number from 1 to ${max}, or null, not ${String(value)}`,
      );
  }
}

/** The part of a platform that sources use. */
interface SourceSystem extends RemoteDeps {
  readonly actors: Pick<Actors, "get">;
}

/** The platform that receives for a source, and the defaults of all sources. */
export interface SourceContext {
  /** The account that inbound events belong to. */
  readonly account: string;
  /** The classes that are served. @default not known: any */
  readonly agentClasses?: readonly string[] | undefined;
  readonly retention: Retention;
  readonly space: NameSpace;
  readonly isStillAlone: () => Promise<boolean>;
  readonly platform: SourceSystem;
}

/** Checks one source at start: an empty, blank or short secret is refused here, not at the first request. */
export function prepareSource(
  name: string,
  options: SourceOptions,
  { account, agentClasses, isStillAlone, retention, space, platform }: SourceContext,
): WebhookSource {
  const where = `webhook source "${name}"`;
  const scheme = schemeOf(options, where);
  const { secret, secrets = [], entitySecrets = {} } = options;
  const { actors, system } = platform;
  const isPublished = scheme.certificate !== undefined || scheme.jwt !== undefined;
  const published = isPublished ? { remote: remoteKeys(platform) } : {};
  const keyContext = { system, audience: options.audience, ...published };
  const prepare = (list: readonly (string | Secret)[]): Secrets => ({
    keys: list.map((one) => prepareKey(scheme, one, where, keyContext)),
    first: secretText(list[0]),
  });
  const shared = prepare(secret === undefined ? secrets : [...secrets, secret]);
  const own = Object.entries(entitySecrets).map(
    ([entity, given]) => [checkName(entity), prepare(isList(given) ? given : [given])] as const,
  );
  if ([shared, ...own.map(([, one]) => one)].every(({ keys }) => keys.length === 0))
    throw new TypeError(`The ${where} has no secret`);
  const agentClass = servedClass(options.agent ?? "webhook-agent", agentClasses, where);
  return {
    name,
    scheme,
    shared,
    ofEntity: new Map(own),
    reader: prepareFields(scheme),
    handshakes: prepareHandshakes(scheme, options.verifyToken, where),
    entity: entityRule(options.entity, scheme),
    space,
    isStillAlone,
    takesPlainNames: plainNames(actors, agentClass, space),
    prefixedEntities: new BoundedSet(REMEMBERED),
    fallbackEntity:
      options.fallbackEntity === undefined ? undefined : checkName(options.fallbackEntity),
    agentClass,
    agentKind: agentKindName(agentClass),
    respond: options.respond ?? "processed",
    answerMs: answerMs(options.answerSeconds, where),
    answer: options.answer === undefined ? null : fixedAnswer(options.answer, where),
    publicUrl: options.publicUrl === undefined ? undefined : new URL(options.publicUrl).origin,
    forward: prepareForward(options.forward, account),
    bodyWindowMs: (options.bodyDedupeSeconds ?? 0) * 1000,
    retention,
  };
}

/** The path form of a class of agents; throws `TypeError` for one that is not served. */
function servedClass(name: string, served: readonly string[] | undefined, where: string): string {
  const className = kebab(name);
  if (served === undefined || served.includes(className)) return className;
  const hint = choiceHint(className, served);
  throw new TypeError(`The ${where} feeds the agent "${className}", which is not served${hint}`);
}

/** Longest time that a sender may be kept waiting, in seconds: that of a handler, unless it sets another. */
const ANSWER_LIMIT = 30;

/** A media type and its parameters (RFC 9110, section 8.3.1). */
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w".-]+)*$/;

function answerMs(seconds: number | undefined, where: string): number {
  if (seconds === undefined) return ANSWER_MS;
  if (!isInRange(seconds, { min: 0.1, max: ANSWER_LIMIT }))
    throw new TypeError(`The ${where} has no valid answerSeconds: give 0.1 to ${ANSWER_LIMIT}`);
  return seconds * 1000;
}

function fixedAnswer({ body = "", status = 200, type }: FixedAnswer, where: string): EventAnswer {
  if (!isInRange(status, { min: 200, max: 299, whole: true }))
    throw new TypeError(`The ${where} has no valid answer.status: give 200 to 299`);
  const contentType = type ?? (body === "" ? null : "text/plain; charset=utf-8");
  if (contentType !== null && !MEDIA_TYPE.test(contentType))
    throw new TypeError(`The ${where} has no valid answer.type: give one such as "text/xml"`);
  return { status, type: contentType, body };
}

function secretText(secret: string | Secret | undefined): string {
  return typeof secret === "object" ? secret.secret : (secret ?? "");
}

function isList(
  given: string | Secret | readonly (string | Secret)[],
): given is readonly (string | Secret)[] {
  return Array.isArray(given);
}

function entityRule(configured: EntitySource | undefined, scheme: Scheme): EntityRule {
  if (configured !== undefined && configured.from !== "payload") return configured;
  const path = configured?.path ?? scheme.entity;
  return path === undefined ? { from: "path" } : { from: "payload", path: [path].flat() };
}

/** The scheme of a source with the overrides of its options; throws `TypeError` on an unknown scheme. */
export function schemeOf(
  options: Pick<SourceOptions, "header" | "scheme" | "toleranceSeconds">,
  where: string,
): Scheme {
  const { header, scheme, toleranceSeconds } = options;
  const base = typeof scheme === "string" ? named(scheme, where) : scheme;
  const timestamp =
    base.timestamp === undefined || toleranceSeconds === undefined
      ? {}
      : { timestamp: { ...base.timestamp, toleranceSeconds } };
  if (header === undefined && toleranceSeconds === undefined) return base;
  const signature =
    header === undefined ? base.signature : [`header:${header.toLowerCase()}` as const];
  return defineScheme({ ...base, ...timestamp, signature });
}

function named(name: string, where: string): Scheme {
  const scheme = schemeNamed(name);
  if (scheme !== undefined) return scheme;
  const hint = choiceHint(name, Object.keys(schemes));
  throw new TypeError(`The ${where} names the unknown scheme "${name}"${hint}`);
}
