import {
  type ExpositionFormat,
  type Family,
  familyText,
  gauge,
  histogram,
  type Labels,
  type Sample,
} from "../http/metrics-format.ts";
import type { ActorNode, Vitals } from "../ports.ts";
import type { Health } from "./health.ts";
import {
  addTotals,
  labelsOf,
  noRequests,
  type RequestTotals,
  secondBounds,
} from "./requests/request-totals.ts";

/** The platform's figures for a scraper, beside the gateway's own families. */
export interface PlatformFigures {
  readonly requests: readonly (readonly [key: string, totals: RequestTotals])[];
  /** Uses by entry of the table of deprecations. */
  readonly deprecated: readonly (readonly [entry: string, uses: number])[];
  readonly parts: Health;
  readonly vitals: Vitals | undefined;
  /** The servers that share the database; null for a single one. */
  readonly nodes: { readonly own: string; readonly all: readonly ActorNode[] } | null;
  /** Families of other parts. */
  readonly others: readonly Family[];
}

/** The platform's families, without the line that ends OpenMetrics. */
export function platformExposition(figures: PlatformFigures, format: ExpositionFormat): string {
  return [
    ...requestFamilies(figures),
    ...healthFamilies(figures),
    ...figures.others,
    ...vitalFamilies(figures),
    ...nodeFamilies(figures),
  ]
    .map((family) => familyText(family, format))
    .join("");
}

function requestFamilies({ requests, deprecated }: PlatformFigures): Family[] {
  const byRoute = new Map<string, [Labels, RequestTotals]>();
  for (const [key, totals] of requests) {
    const { part, method, route } = labelsOf(key);
    const id = `${part}\t${method}\t${route}`;
    const found: [Labels, RequestTotals] = byRoute.get(id) ?? [
      { part, method, route },
      noRequests(),
    ];
    addTotals(found[1], totals);
    byRoute.set(id, found);
  }
  const routes = [...byRoute.values()];
  return [
    {
      name: "causey_http_requests",
      type: "counter",
      help: "Answered requests by route and status",
      samples: requests.map(([key, { count }]) => ["_total", { ...labelsOf(key) }, count]),
    },
    {
      name: "causey_http_request_duration_seconds",
      type: "histogram",
      help: "Time until the last byte of an answer was handed over",
      samples: routes.flatMap(([labels, totals]) => histogram(labels, secondBounds, totals)),
    },
    {
      name: "causey_http_response_bytes",
      type: "counter",
      help: "Bytes of answers, as far as their makers know them",
      samples: routes.map(([labels, { bytes }]) => ["_total", labels, bytes]),
    },
    {
      name: "causey_deprecated_uses",
      type: "counter",
      help: "Requests with a valid token that used an entry of the table of deprecations",
      samples: deprecated.map(([entry, uses]) => ["_total", { entry }, uses]),
    },
  ];
}

/** The label of what is about the server that answered; the same request may reach another one next time. */
function ownLabel({ nodes }: PlatformFigures): Labels {
  return nodes === null ? {} : { node: nodes.own };
}

function healthFamilies(figures: PlatformFigures): Family[] {
  return [
    {
      name: "causey_part_ready",
      type: "gauge",
      help: "1 = the part works, 0 = /readyz tells why it does not",
      samples: Object.entries(figures.parts).map(([part, { status }]) => [
        "",
        { part, ...ownLabel(figures) },
        status === "ready" ? 1 : 0,
      ]),
    },
  ];
}

/** The process metrics, named as in every Prometheus client library; only the last is our own. */
function vitalFamilies(figures: PlatformFigures): Family[] {
  const { vitals } = figures;
  if (vitals === undefined) return [];
  const own = ownLabel(figures);
  const { cpuSeconds, residentBytes, startedAt, droppedLines } = vitals;
  return [
    {
      name: "process_cpu_seconds",
      type: "counter",
      help: "CPU time of the process that answered",
      samples: [["_total", own, cpuSeconds]],
    },
    gauge("process_resident_memory_bytes", "Memory of that process", residentBytes, own),
    gauge("process_start_time_seconds", "When it started, in Unix time", startedAt / 1000, own),
    {
      name: "causey_log_lines_dropped",
      type: "counter",
      help: "Lines of the log that this process could not write",
      samples: [["_total", own, droppedLines]],
    },
  ];
}

/** The servers of a cluster, as the database has them: every one of them answers the same. */
function nodeFamilies({ nodes }: PlatformFigures): Family[] {
  if (nodes === null) return [];
  const perNode = (figure: (node: ActorNode) => number): Sample[] =>
    nodes.all.map((node) => ["", { node: node.address, machine: node.machine }, figure(node)]);
  return [
    {
      name: "causey_node_up",
      type: "gauge",
      help: "1 = the lease of the server holds",
      samples: perNode(({ lives }) => (lives ? 1 : 0)),
    },
    {
      name: "causey_node_slots",
      type: "gauge",
      help: "How many of the 1,024 slots of objects the server has",
      samples: perNode(({ slots }) => slots),
    },
    {
      name: "causey_node_lag_seconds",
      type: "gauge",
      help: "How long ago the oldest work of its objects was due that has not ended",
      samples: perNode(({ lagMs }) => lagMs / 1000),
    },
  ];
}
