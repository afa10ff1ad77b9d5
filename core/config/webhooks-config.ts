import * as v from "valibot";
import { type SourceSettings, sourceSettings } from "../webhooks/inbound/source-schema.ts";
import type { WebhooksOptions } from "../webhooks/mod.ts";
import { days, positiveInteger, id, type Members, strings } from "./fields.ts";

/** The options of webhooks, except for those that the platform gives; a sender's scheme is a built-in one. */
export interface WebhooksConfig extends Partial<
  Pick<WebhooksOptions, "retention" | "masterSecret">
> {
  readonly sources?: Readonly<Record<string, SourceSettings>>;
  /** Private hosts that outbound webhooks may reach nevertheless. */
  readonly allowHosts?: readonly string[];
}

/** Inbound senders, how long events are kept, and what deliveries may reach. */
export const webhooksConfig: v.GenericSchema<unknown, WebhooksConfig> = v.strictObject({
  sources: v.exactOptional(v.record(id, sourceSettings)),
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
    v.pipe(v.string(), v.minLength(16, "expected a secret of at least 16 characters")),
  ),
} satisfies Members<WebhooksConfig>);
