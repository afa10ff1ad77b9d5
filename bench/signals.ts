// What the access log and the metrics take of a gateway request: the same server without them, with each, and with both
// as `causey serve` has them. The log's lines go to /dev/null: writing is measured, a disk or a terminal is not.
import type { Figure, Goal } from "./harness/figure.ts";
import { causeyGateway, chat, ownHeaders } from "./harness/gateway-field.ts";
import type { Options } from "./harness/options.ts";
import { compareServers, silent, start } from "./harness/servers.ts";

const OFF = "neither";

/** Runs `signals`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  try {
    for (const [name, body] of [
      ["json", chat.json],
      ["stream of 51 events", chat.stream],
    ] as const) {
      const contestant = (label: string, config: object, goals: readonly Goal[] = []) =>
        silent(
          causeyGateway({
            name: label,
            runtime: "Node",
            upstream: upstream.url,
            body,
            headers: ownHeaders,
            config: {
              console: false,
              ...config,
              gateway: { ...providers(upstream.url), metrics: false },
            },
            goals,
          }),
        );
      const field = [
        contestant(OFF, {}),
        contestant("access log", { log: "json" }),
        contestant("metrics", { metrics: true }),
        contestant("both", { log: "json", metrics: true, console: true }, [
          { of: OFF, atMost: 1.05 },
        ]),
      ];
      const [connections = 16] = options.connections ?? [];
      const firstByte = name !== "json";
      yield await compareServers(`signals: ${name}`, field, { ...options, connections, firstByte });
    }
  } finally {
    await upstream.stop();
  }
}

function providers(upstream: URL): object {
  return { providers: { openai: { baseUrl: `${upstream.origin}/v1` } } };
}
