import { ApiError, invalidRequest } from "../../../http/api-error.ts";
import { extractorFor } from "../../input/extractor.ts";
import { prepareJob } from "../../job/job.ts";
import { checkJsonRequest } from "../../json/ask-json.ts";
import { checkWanted } from "../../json/json-body.ts";
import type { CrawlDeps, CrawlWork } from "../crawl-deps.ts";
import { type CrawlBody, crawlFieldForBrowser } from "../rows/crawl-schema.ts";
import { allowsUse, type Robots } from "../rules/robots.ts";
import { compileScope, pageAddress } from "../rules/scope.ts";
import { fetchRobots } from "../site-rules.ts";

/** A crawl that may begin. */
export interface CheckedCrawl {
  readonly input: CrawlBody;
  /** The rules of its start's origin; null when the site could not be asked. */
  readonly robots: Robots | null;
  /** Notes on fields of the body that have no effect. */
  readonly notes: readonly string[];
}

const YEAR_MS = 366 * 86_400_000;

/** Checks what the schema cannot, and asks the site. @throws ApiError naming the field, or that the site forbids it */
export async function checkCrawl(
  deps: CrawlWork,
  body: CrawlBody,
  signal: AbortSignal,
): Promise<CheckedCrawl> {
  checkCrawlFields(deps, body);
  extractorFor(body.extract, deps.extract);
  const { url } = await prepareJob(body, deps.policy);
  const address = url === null ? null : pageAddress(url.href);
  if (address === null) throw invalidRequest("url: At most 2048 characters are allowed");
  compileScope(body.options ?? {}, deps.policy.allow);
  await checkJsonOptions(deps, body, signal);
  const robots = await fetchRobots(deps, address.origin, body, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    // A site that is down may be up when the crawl gets there.
    if (error instanceof ApiError && error.kind !== "blocked_url") return null;
    throw error;
  });
  const purposes = body.crawlPurposes ?? ["search", "ai-input", "ai-train"];
  if (robots !== null && !allowsUse(robots, { purposes, use: body.contentUse ?? "full" })) {
    throw invalidRequest("Crawl disallowed by Content-Signal directive (purpose or use level)");
  }
  return { input: { ...body, url: address.href }, robots, notes: notesOn(body) };
}

function notesOn({ browser }: CrawlBody): string[] {
  return browser === undefined
    ? []
    : [`browser: "${browser}" has no effect: pages are rendered by Chromium`];
}

/** Checks the fields of a body that depend on each other, or on what this server has. */
export function checkCrawlFields({ platform }: CrawlDeps, body: CrawlBody): void {
  const { modifiedSince } = body;
  const now = platform.system.now();
  if (modifiedSince !== undefined) {
    const at = modifiedSince * 1000;
    if (at > now) throw invalidRequest("modifiedSince: A time in the future is not allowed");
    if (at < now - YEAR_MS)
      throw invalidRequest("modifiedSince: A time within the last year is needed");
  }
  const { browser } = platform.capabilities;
  if (browser === true && body.render !== false) return;
  if (browser !== true && body.render !== false && body.render !== "auto") {
    throw new ApiError("missing_capability", {
      message: `render: This server has no browser (${browser}); "render": false crawls without one`,
      headers: { "x-should-retry": "false" },
    });
  }
  const wrong = crawlFieldForBrowser(body);
  if (wrong === undefined) return;
  const why =
    body.render === false
      ? 'which "render": false does without'
      : "which this server does not have";
  throw invalidRequest(`${wrong}: Needs a browser, ${why}`);
}

async function checkJsonOptions(
  { json }: CrawlWork,
  { formats = [], jsonOptions }: CrawlBody,
  signal: AbortSignal,
): Promise<void> {
  if (!formats.includes("json")) {
    if (jsonOptions === undefined) return;
    throw invalidRequest('jsonOptions: Has an effect with "json" in formats only');
  }
  if (jsonOptions === undefined) throw invalidRequest('jsonOptions: Needed with "json" in formats');
  checkWanted(jsonOptions, "jsonOptions: ");
  await checkJsonRequest(json, jsonOptions, signal);
}
