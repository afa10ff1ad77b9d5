import type { EndpointView } from "../core/webhooks/outbound/endpoints.ts";
import type { TopicFigures } from "../core/webhooks/outbound/topics.ts";
import { askResult } from "./api.ts";
import { Deliveries } from "./deliveries.tsx";
import { Endpoints, type OutboundProps } from "./endpoints.tsx";
import { Table, useLoaded } from "./parts.tsx";

/** The endpoints that webhooks are sent to, the last deliveries, and figures by type. */
export function Outbound(props: OutboundProps) {
  const { root } = props;
  return (
    <>
      <Endpoints key={root} {...props} />
      <Deliveries key={`${root}/deliveries`} {...props} />
      <Topics key={`${root}/topics`} {...props} />
    </>
  );
}

function Topics({ root, changed }: OutboundProps) {
  const topics = useLoaded(async () => {
    const [figures, endpoints] = await Promise.all([
      askResult<readonly TopicFigures[]>(`${root}/stats/topics`),
      askResult<readonly EndpointView[]>(`${root}/endpoints`),
    ]);
    return { figures, addresses: new Map(endpoints.map(({ id, url }) => [id, url])) };
  }, [root, changed]);
  return (
    <section class="stack" aria-labelledby="topics-title">
      <h2 id="topics-title">Figures by type</h2>
      <Table
        of={topics}
        label="Figures by type"
        head={["Type", "Endpoint", "Attempts", "Delivered", "Failed", "Given up", "Mean time"]}
        none="Nothing was sent yet."
        rows={(topics.value?.figures ?? []).map((one) => ({
          key: `${one.endpoint_id} ${one.type}`,
          cells: [
            one.type === "*" ? "all others" : one.type,
            <span class="wrap">
              {topics.value?.addresses.get(one.endpoint_id) ?? one.endpoint_id}
            </span>,
            one.attempts,
            one.delivered,
            one.failed,
            one.dead,
            <span class="nowrap">{one.average_ms} ms</span>,
          ],
        }))}
      />
    </section>
  );
}
