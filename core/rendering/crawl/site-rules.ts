import { ApiError } from "../../http/api-error.ts";
import type { CrawlDeps } from "./crawl-deps.ts";
import { type CrawlState, writeFacts } from "./rows/crawl-state.ts";
import { within } from "../input/timers.ts";
import { type CrawlLogin, fetchFile } from "./fetch-file.ts";
import { readRobots, type Robots, ROBOTS_LIMIT } from "./rules/robots.ts";

/** The rules of a site without a robots.txt. */
export const noRobots: Robots = { rules: [], delay: null, sitemaps: [], signals: {} };

/** The rules of a site whose robots.txt cannot be read: nothing is allowed (RFC 9309, section 2.3.1.4). */
const closedRobots: Robots = { ...noRobots, rules: [{ allow: false, pattern: "/" }] };

/** Milliseconds for a robots.txt. */
const WAIT_MS = 10_000;

/**
 * Loads the robots.txt of an origin; null when the site cannot say at present (an HTTP error of its own, or too many
 * requests).
 *
 * @throws ApiError of the rendering rows when it cannot be reached
 */
export async function fetchRobots(
  deps: CrawlDeps,
  origin: string,
  login: CrawlLogin,
  signal: AbortSignal,
): Promise<Robots | null> {
  const { background, system } = deps.platform;
  const late = (): ApiError =>
    new ApiError("load_aborted", { message: `No robots.txt within ${WAIT_MS} ms` });
  return within({ ms: WAIT_MS, system, signal, expired: late }, async (inner) => {
    const url = new URL("/robots.txt", origin);
    const { status, bytes } = await fetchFile(deps, { url, limit: ROBOTS_LIMIT, login }, inner);
    if (status >= 500 || status === 429) return null;
    if (status >= 300) return noRobots;
    return background.run(readRobots, { bytes }, inner);
  });
}

/** Returns the rules of an origin, as they were when the crawl first went there; null when it cannot say at present. */
export async function rulesOf(
  state: CrawlState,
  deps: CrawlDeps,
  origin: string,
  signal: AbortSignal,
): Promise<Robots | null> {
  const { context, robots } = state;
  const known = robots.get(origin);
  if (known !== undefined) return known;
  const [row] = await context.sql.all(
    "SELECT robots FROM rendering_crawl_sites WHERE actor = ? AND origin = ?",
    [context.name, origin],
  );
  if (row !== undefined) {
    const stored = JSON.parse(String(row["robots"])) as Robots;
    robots.set(origin, stored);
    return stored;
  }
  const rules = await fetchRobots(deps, origin, state.facts?.input ?? { url: origin }, signal);
  return rules === null ? null : keepRules(state, origin, rules);
}

/** Takes a site that still cannot say for one that allows nothing. */
export function closeSite(state: CrawlState, origin: string): Promise<Robots> {
  return keepRules(state, origin, closedRobots);
}

/** Stores what a site says, which counts among the bytes of the crawl. */
async function keepRules(state: CrawlState, origin: string, rules: Robots): Promise<Robots> {
  const text = JSON.stringify(rules);
  const sql = `INSERT INTO rendering_crawl_sites (actor, origin, robots) VALUES (?, ?, ?)
    ON CONFLICT (actor, origin) DO NOTHING`;
  await state.inTurn(async () => {
    const { facts, context } = state;
    if (facts?.status !== "running") return;
    const insert = { sql, params: [context.name, origin, text] };
    await writeFacts(state, { ...facts, bytes: facts.bytes + text.length }, [insert]);
  });
  state.robots.set(origin, rules);
  return rules;
}
