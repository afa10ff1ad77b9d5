import { eventCounts, readEventCounts } from "../entity/event-counts.ts";
import { type Family, gauge, type Sample } from "../http/metrics-format.ts";
import type { Platform } from "../ports.ts";
import { outboundOf } from "./outbound/outbound-routes.ts";
import type { TopicFigures } from "./outbound/topics.ts";

/**
 * The figures of an account for a scraper. Their labels are bounded: sources are at most 200 beside those of the file, and
 * types and endpoints are told apart as `GET …/stats/topics` tells them.
 */
export async function webhookFamilies(
  platform: Pick<Platform, "actors">,
  account: string,
): Promise<readonly Family[]> {
  const sender = outboundOf(platform, account);
  const [topics, stats, inbound] = await Promise.all([
    sender.topics(),
    sender.stats(),
    readEventCounts(platform.actors, []),
  ]);
  const waiting = (name: string): number => Number(stats[name] ?? 0);
  return [
    {
      name: "causey_webhook_events",
      type: "counter",
      help: "Inbound requests and events by source, as GET .../webhooks/stats counts them",
      samples: Object.entries(inbound).flatMap(([source, counts]) => [
        ...eventCounts.map((outcome): Sample => ["_total", { source, outcome }, counts[outcome]]),
        ["_total", { source, outcome: "refused" }, sumOf(Object.values(counts.refused))],
      ]),
    },
    ...topicFamilies(topics),
    gauge("causey_webhook_deliveries_pending", "Deliveries that wait", waiting("pending")),
    gauge(
      "causey_webhook_oldest_pending_seconds",
      "The age of the oldest delivery that waits",
      waiting("oldest_pending_seconds"),
    ),
  ];
}

function topicFamilies(topics: readonly TopicFigures[]): Family[] {
  const of = ({ endpoint_id: endpoint, type }: TopicFigures): Sample[1] => ({ type, endpoint });
  return [
    {
      name: "causey_webhook_attempts",
      type: "counter",
      help: "Attempts to deliver, by type and endpoint",
      samples: topics.flatMap((one): Sample[] => [
        ["_total", { ...of(one), outcome: "delivered" }, one.delivered],
        ["_total", { ...of(one), outcome: "failed" }, one.failed],
      ]),
    },
    {
      name: "causey_webhook_deliveries_dead",
      type: "counter",
      help: "Deliveries that were given up, by type and endpoint",
      samples: topics.map((one) => ["_total", of(one), one.dead]),
    },
  ];
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
