import type { SiteCrawler } from "../../ports.ts";
import { readTraceparent } from "../../trace/trace-context.ts";
import { workSpan } from "../../trace/traced-work.ts";
import type { SearchOptions, WorkOptions } from "../models/search-deps.ts";
import { withTracedModels } from "../models/traced-models.ts";
import type { Work } from "../state/work-rows.ts";

const names = {
  text: "index item",
  pictures: "read pictures",
  vectors: "embed item",
  job: "sync job",
  schedule: "schedule",
};

/**
 * Does work of the queue in a span of its own, below which are the calls of models and the crawls that it asks for. `run` resolves
 * to whether it was more than a look at something that is not ready: a job looks at its crawl each second.
 */
export function tracedWork(
  actor: string,
  work: Work,
  options: SearchOptions,
  run: (work: Work, options: WorkOptions) => Promise<boolean>,
): Promise<boolean> {
  const { tracer } = options;
  if (tracer === undefined) return run(work, options);
  const span = workSpan(tracer, work.trace, () => ({
    name: names[work.stage],
    attributes: {
      "causey.part": "search",
      "causey.search.instance": actor,
      // A job is looked at many times while it waits for its source.
      ...(work.stage === "job"
        ? { "causey.search.job": work.id }
        : { "causey.search.item": work.id, "causey.attempt": work.attempts }),
    },
  }));
  const { traceparent } = span;
  const traced = withTracedModels(options, readTraceparent(traceparent));
  const { crawler } = options;
  const own: WorkOptions = {
    ...traced,
    ...(crawler && { crawler: tracedCrawler(crawler, traceparent) }),
    trace: traceparent,
  };
  // Later work joins the trace that this run has begun.
  return span.of(run({ ...work, trace: work.trace ?? traceparent }, own), (isDone) =>
    isDone ? { error: null } : null,
  );
}

function tracedCrawler(crawler: SiteCrawler, trace: string | null): SiteCrawler {
  return {
    check: (wish) => crawler.check(wish),
    begin: (account, wish, signal) => crawler.begin(account, wish, signal, trace ?? undefined),
    read: (account, id, seq, limit) => crawler.read(account, id, seq, limit),
    markdown: (account, id, seq, most) => crawler.markdown(account, id, seq, most),
    cancel: (account, id) => crawler.cancel(account, id),
  };
}
