import type { AdHosts } from "../job/request-gate.ts";

/** Hosts that lists name. */
export interface HostList extends AdHosts {
  /** Takes the host of a line, and returns whether it names one. */
  add(line: string): boolean;
  /** Hosts so far, exceptions included. */
  size(): number;
}

/** Options with which a filter still means each request of a page to a host. */
const wholeHost: ReadonlySet<string> = new Set(["third-party", "3p", "all", "important"]);

const filterForm = /^(?<free>@@)?\|\|(?<host>[\w.-]+)\^(?:\$(?<options>.+))?$/u;
const hostForm = /^(?:(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+)?(?<host>[\w.-]+)(?:\s+#.*)?$/u;

/**
 * Makes an empty list. Its lines are those of filter lists (`||ads.example^`, exceptions begin with `@@`), of files of hosts
 * (`0.0.0.0 ads.example`), or plain names. Filters for paths, elements or some kinds of requests only have no effect: they need the
 * engine of a browser extension (https://adblockplus.org/filters describes them).
 */
export function hostList(): HostList {
  const hosts = new Set<string>();
  const exceptions = new Set<string>();
  return {
    size: () => hosts.size + exceptions.size,
    add(line) {
      const text = line.trim();
      const filter = filterForm.exec(text)?.groups;
      const host = (filter ?? hostForm.exec(text)?.groups)?.["host"] ?? "";
      const options = filter?.["options"]?.split(",") ?? [];
      // A name without a dot is one of the machine's own, as "localhost"; addresses have no letters behind their last dot.
      if (!/\.[a-z][a-z0-9-]*$/iu.test(host) || !options.every((option) => wholeHost.has(option)))
        return false;
      (filter?.["free"] === undefined ? hosts : exceptions).add(host.toLowerCase());
      return true;
    },
    has(host) {
      const names = [host, ...parentsOf(host)];
      return names.some((name) => hosts.has(name)) && !names.some((name) => exceptions.has(name));
    },
  };
}

function* parentsOf(host: string): Generator<string> {
  for (let dot = host.indexOf("."); dot !== -1; dot = host.indexOf(".", dot + 1))
    yield host.slice(dot + 1);
}
