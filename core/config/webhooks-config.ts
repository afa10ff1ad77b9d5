import * as v from "valibot";
import { parseInstant } from "../http/fields/instant.ts";
import type { WebhooksOptions } from "../webhooks/mod.ts";
import { LONGEST_SECONDS, whole } from "../http/fields/bounded-number.ts";
import { days, positiveInteger, id, type Members, secretText, strings, url } from "./fields.ts";

/** The options of webhooks, except for those that the platform gives; a sender's scheme is a built-in one. */
export interface WebhooksConfig extends Partial<
  Pick<WebhooksOptions, "retention" | "masterSecret">
> {
  readonly sources?: Readonly<Record<string, SourceConfig>>;
  /** Private hosts that outbound webhooks may reach nevertheless. */
  readonly allowHosts?: readonly string[];
}

type SourceOptions = WebhooksOptions["sources"][string];

type SourceConfig = Omit<SourceOptions, "scheme"> & { readonly scheme: string };

const entity = v.variant("from", [
  v.strictObject({
    from: v.literal("payload"),
    path: v.union([v.string(), v.pipe(v.array(v.string()), v.minLength(1))]),
  }),
  v.strictObject({ from: v.literal("header"), name: v.string() }),
  v.strictObject({ from: v.literal("path") }),
]);

const instant = v.pipe(
  v.string(),
  v.check((text) => parseInstant(text) !== null, "Expected an RFC 3339 instant with its zone"),
);
const expiring = v.union([
  secretText,
  v.strictObject({ secret: secretText, expiresAt: v.exactOptional(instant) }),
]);
const seconds = whole(0, LONGEST_SECONDS);

const source = v.strictObject({
  scheme: v.string(),
  secret: v.exactOptional(secretText),
  secrets: v.exactOptional(v.array(expiring)),
  verifyToken: v.exactOptional(secretText),
  audience: v.exactOptional(v.string()),
  entitySecrets: v.exactOptional(v.record(v.string(), v.union([expiring, v.array(expiring)]))),
  respond: v.exactOptional(v.picklist(["processed", "queued"])),
  answerSeconds: v.exactOptional(v.pipe(v.number(), v.minValue(0.1), v.maxValue(30))),
  answer: v.exactOptional(
    v.strictObject({
      status: v.exactOptional(whole(200, 299)),
      type: v.exactOptional(v.pipe(v.string(), v.maxLength(128))),
      body: v.exactOptional(v.pipe(v.string(), v.maxLength(65_536))),
    }),
  ),
  toleranceSeconds: v.exactOptional(seconds),
  publicUrl: v.exactOptional(url),
  bodyDedupeSeconds: v.exactOptional(seconds),
  header: v.exactOptional(v.string()),
  entity: v.exactOptional(entity),
  fallbackEntity: v.exactOptional(v.string()),
  group: v.exactOptional(v.string()),
  prefixed: v.exactOptional(v.boolean()),
  entities: v.exactOptional(strings),
  formerNames: v.exactOptional(strings),
  agent: v.exactOptional(v.string()),
} satisfies Members<SourceConfig>);

/** Inbound senders, how long events are kept, and what deliveries may reach. */
export const webhooksConfig: v.GenericSchema<unknown, WebhooksConfig> = v.strictObject({
  sources: v.exactOptional(v.record(id, source)),
  retention: v.exactOptional(
    v.strictObject({
      maxEvents: v.exactOptional(v.nullable(positiveInteger)),
      maxAgeDays: v.exactOptional(v.nullable(days)),
      deliveryDays: v.exactOptional(v.nullable(days)),
      deadDeliveryDays: v.exactOptional(v.nullable(days)),
    }),
  ),
  allowHosts: v.exactOptional(strings),
  masterSecret: v.exactOptional(
    v.pipe(v.string(), v.minLength(16, "Expected a secret of at least 16 characters")),
  ),
} satisfies Members<WebhooksConfig>);
