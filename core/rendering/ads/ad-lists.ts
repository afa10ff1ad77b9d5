import { ApiError } from "../../http/api-error.ts";
import { readUpTo } from "../../http/stream.ts";
import type { AllowHosts } from "../../net/allow-hosts.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { Platform, System, Transport } from "../../ports.ts";
import { withinMs } from "../../time/within-ms.ts";
import { followRedirects, readBody } from "../static/fetch-document.ts";
import type { AdHosts, AdLists } from "../job/request-gate.ts";
import { type HostList, hostList } from "./ad-hosts.ts";

/** The lists that are read unless the operator names others. https://easylist.to/ describes them. */
export const AD_LISTS: readonly string[] = [
  "https://easylist.to/easylist/easylist.txt",
  "https://easylist.to/easylist/easyprivacy.txt",
];

/** Bytes of a list, unpacked; EasyList has some two million. */
const LIST_LIMIT = 16 * 1024 * 1024;
/** Hosts of all lists together: the largest have some 200,000. */
const HOST_LIMIT = 500_000;
/** Ms that a list may take. */
const TIMEOUT = 20_000;
/** Lists are read again after this many ms. */
const MAX_AGE = 24 * 60 * 60_000;
/** Least ms between two attempts after one that failed. */
const COOLDOWN = 60_000;
const REDIRECTS = 5;
/** Lines that are read between two pauses. */
const LINES = 2000;
/** Characters of a line that may name a host; longer ones are filters of elements. */
const LINE_LIMIT = 500;

/** The parts of a server that reading lists needs. */
export interface AdListDeps {
  readonly urls: readonly string[];
  readonly documents: Transport;
  readonly allow: AllowHosts;
  readonly platform: Pick<Platform, "system" | "log">;
}

/** Reads lists when they are asked for. While one cannot be read again, what was read before goes on. */
export function adLists(deps: AdListDeps): AdLists {
  const { system, log } = deps.platform;
  let kept: AdHosts | null = null;
  let readAt = -Infinity;
  let triedAt = -Infinity;
  let reading: Promise<AdHosts> | null = null;
  let failure: unknown = null;

  const read = async (): Promise<AdHosts> => {
    triedAt = system.monotonic();
    try {
      kept = await readLists(deps);
      readAt = triedAt;
      return kept;
    } catch (error) {
      failure = error;
      log("warn", "A list of advertisers cannot be read", { error: String(error) });
      if (kept === null) throw error;
      return kept;
    } finally {
      reading = null;
    }
  };
  return {
    async hosts() {
      const now = system.monotonic();
      if (kept !== null && now - readAt < MAX_AGE) return kept;
      if (reading === null && now - triedAt < COOLDOWN) {
        if (kept === null) throw failure;
        return kept;
      }
      // On Workers a read ends with the request that began it, and its promise stays pending: after its time the next request reads.
      if (reading === null || now - triedAt > 2 * TIMEOUT * deps.urls.length) {
        reading = read();
        system.waitUntil(reading.catch(() => undefined));
      }
      return await reading;
    },
  };
}

async function readLists(deps: AdListDeps): Promise<AdHosts> {
  const { system, log } = deps.platform;
  const hosts = hostList();
  for (const url of deps.urls) {
    try {
      const count = await addLines(await readList(url, deps), hosts, system);
      if (count === 0) throw new TransportError("broken", "It names no host");
    } catch (error) {
      throw unread(url, error);
    }
  }
  log("info", "The lists of advertisers were read", {
    lists: deps.urls.length,
    hosts: hosts.size(),
  });
  return hosts;
}

async function readList(
  url: string,
  { documents, allow, platform: { system } }: AdListDeps,
): Promise<Uint8Array> {
  return withinMs({ ms: TIMEOUT, signal: undefined, system }, async (signal) => {
    const { answer } = await followRedirects(documents, new URL(url), {
      headersFor: () => [["accept-encoding", "gzip"]],
      allow,
      signal,
      most: REDIRECTS,
    });
    const bytes = await readBody(answer, (body) => readUpTo(body, LIST_LIMIT));
    if (answer.status !== 200)
      throw new TransportError("broken", `Its site answers status ${answer.status}`);
    if (bytes === null) throw new TransportError("broken", `It has more than ${LIST_LIMIT} bytes`);
    return bytes;
  });
}

/** Adds the lines of a list, and lets others go on in between. Resolves to how many of them name a host. */
async function addLines(bytes: Uint8Array, hosts: HostList, system: System): Promise<number> {
  const text = new TextDecoder().decode(bytes);
  let [at, named] = [0, 0];
  for (let line = 1; at < text.length; line++) {
    if (line % LINES === 0) await system.sleep(0);
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    if (end - at <= LINE_LIMIT && hosts.add(text.slice(at, end))) named += 1;
    if (hosts.size() > HOST_LIMIT)
      throw new TransportError("broken", `The lists name more than ${HOST_LIMIT} hosts`);
    at = end + 1;
  }
  return named;
}

function unread(url: string, cause: unknown): ApiError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `blockAds: The list ${url} cannot be read: ${why}. rendering.adLists names other lists`;
  const headers = { "retry-after": String(COOLDOWN / 1000) };
  return new ApiError("unavailable", { message, headers, cause });
}
