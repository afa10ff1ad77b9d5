import { createHmac } from "node:crypto";
import { shownAddress } from "../config/shown-config.ts";
import type { Prepared } from "./prepare.ts";

/** Facts that the start lines show beside the prepared parts. */
export interface BannerFacts {
  readonly version: string;
  /** E.g. `Node 24.21.0`. */
  readonly runtime: string;
  readonly url: string;
  /** The browser of page rendering, or the reason why rendering is off. */
  readonly browser: string;
  /** An address that logs in to the web console once; null without a console. */
  readonly consoleLink: string | null;
}

/**
 * Returns the lines that a start prints (at most twelve): what runs, where, on what, and one command to copy for each part.
 * Without a demo the commands of the demo parts are left out, so that every line works.
 */
export function bannerLines(prepared: Prepared, facts: BannerFacts): string[] {
  const { config, token, dataDir } = prepared;
  const embedder = config.search?.embedder?.model ?? "builtin/lexical";
  const chat = config.search?.chatModel?.model ?? "builtin/extractive";
  const url = reachableUrl(facts.url);
  const everywhere = url === facts.url ? "" : ", and at each other address of this machine";
  return [
    `causey ${facts.version} on ${facts.runtime}`,
    `Listening  ${url}  (API ${url}/client/v4)${everywhere}`,
    ...(facts.consoleLink === null ? [] : [`Console    ${facts.consoleLink}  (logs in once)`]),
    `Data       ${config.database === undefined ? dataDir : shownAddress(config.database)}`,
    ...(token.created
      ? [
          `Token      ${token.value}  (shown once, ${token.path === null ? "not stored" : `stored in ${token.path}`})`,
        ]
      : []),
    `Parts      gateway, rendering (${facts.browser}), search (${embedder}, ${chat}), webhooks, agents, deprecations`,
    ...commands(prepared, url),
  ];
}

/** The address at which a browser of this machine finds a server: `0.0.0.0` and `[::]` stand for every address and cannot be opened. */
export function reachableUrl(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

/** Returns the warning for an address that others can reach; null for loopback. */
export function exposureWarning(host: string): string | null {
  if (/^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/iu.test(host)) return null;
  return "Other machines can reach this address over plain HTTP, which shows tokens and contents to the networks between: put a proxy with TLS before it, or listen on 127.0.0.1";
}

function commands(prepared: Prepared, url: string): string[] {
  const { accountId, token, demoSecret } = prepared;
  const unstored = token.created ? token.value : "$CAUSEY_TOKEN";
  const bearer = token.path === null ? unstored : `$(cat ${shellWord(token.path)})`;
  const auth = `-H "Authorization: Bearer ${bearer}"`;
  const account = `${url}/client/v4/accounts/${accountId}`;
  const message = `-H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":`;
  const pdf = `Rendering  curl ${account}/browser-rendering/pdf ${auth} -d '{"html":"<h1>Hello</h1>"}' -o hello.pdf`;
  const deprecations = `Retired    curl ${url}/client/v4/deprecations`;
  if (demoSecret === null) return [pdf, deprecations];
  const gatewayToken = `-H "cf-aig-authorization: Bearer ${bearer}"`;
  const event = JSON.stringify({ entity: "demo", type: "hello" });
  const signature = createHmac("sha256", demoSecret).update(event).digest("hex");
  return [
    `Gateway    curl ${url}/v1/${accountId}/default/echo/chat/completions ${gatewayToken} -H 'Content-Type: application/json' -d '{"model":"echo","messages":[{"role":"user","content":"Hello"}]}'`,
    pdf,
    `Search     curl ${account}/ai-search/instances/demo/chat/completions ${auth} ${message}"How do I rotate the master key?"}]}'`,
    `Webhooks   curl ${url}/webhooks/demo -H 'Content-Type: application/json' -H 'X-Signature: sha256=${signature}' -d '${event}'`,
    `Agents     curl -N "${url}/agents/webhook-agent/demo/events?since=0" ${auth}`,
    deprecations,
  ];
}

/** Writes a path as one word of a POSIX shell, also between double quotes inside of `$(…)`. */
function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
