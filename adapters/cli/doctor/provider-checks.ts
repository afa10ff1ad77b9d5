import type { Config } from "../../../core/config/config.ts";
import { providers as known } from "../../../core/gateway/providers/known/table.ts";
import { failureWords } from "../../../core/net/network-failure.ts";
import { toTransportError } from "../../shared/http/to-transport-error.ts";
import { type DoctorFinding, timeLimited } from "./finding.ts";

/** How long an endpoint has to answer, in ms. */
const ANSWER_MS = 10_000;
/** Signed webhooks are refused from a few minutes on; this much is still a clock that is set by hand, in ms. */
const SKEW_MS = 60_000;

interface Answered {
  readonly finding: DoctorFinding;
  /** The endpoint's clock minus ours, in ms; null when it did not tell. */
  readonly skewMs: number | null;
}

/** Whether the configured providers and models answer at all, and whether their clocks agree with this one. No key is sent. */
export async function checkProviderAccess(config: Config): Promise<DoctorFinding[]> {
  const endpoints = endpointsOf(config);
  if (endpoints.size === 0)
    return [
      { check: "providers", status: "ok", detail: "None is configured" },
      {
        check: "clock",
        status: "ok",
        detail: `${new Date().toISOString()}, not compared with another clock`,
      },
    ];
  const answers = await Promise.all([...endpoints].map(([name, url]) => ask(name, url)));
  const skews = answers.flatMap(({ skewMs }) => (skewMs === null ? [] : [skewMs]));
  return [...answers.map(({ finding }) => finding), clock(skews)];
}

function endpointsOf({ gateway = {}, search = {} }: Config): Map<string, string> {
  const found = providersIn(gateway);
  for (const name of ["embedder", "chatModel", "reranker", "ocr"] as const) {
    const url = search[name]?.baseUrl;
    if (url !== undefined) found.set(`search.${name}`, url);
  }
  const { judge, checkers = {} } = gateway;
  if (judge !== undefined) found.set("gateway.judge", judge.baseUrl);
  for (const [name, { url }] of Object.entries(checkers))
    found.set(`gateway.checkers.${name}`, url);
  return found;
}

function providersIn({ providers = {} }: NonNullable<Config["gateway"]>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, { baseUrl }] of Object.entries(providers)) {
    const url = baseUrl ?? known[name]?.baseUrl ?? null;
    // `{…}` stands for what the path of a request says.
    if (url !== null && !url.includes("{")) found.set(`gateway.providers.${name}`, url);
  }
  return found;
}

async function ask(name: string, url: string): Promise<Answered> {
  const check = `provider ${name}`;
  const { host } = new URL(url);
  const started = Date.now();
  try {
    const response = await timeLimited(ANSWER_MS, (signal) =>
      fetch(url, { method: "HEAD", redirect: "manual", signal }),
    );
    const ms = Date.now() - started;
    await response.body?.cancel();
    const date = Date.parse(response.headers.get("date") ?? "");
    const skewMs = Number.isNaN(date) ? null : date - started - ms / 2;
    // Any answer will do: without a key most refuse.
    return { finding: { check, status: "ok", detail: `${host} answers in ${ms} ms` }, skewMs };
  } catch (error) {
    const { failure, message } = toTransportError(error, undefined, "unreachable");
    const detail = `${host} does not answer: ${message}`;
    const { hint } = failureWords[failure ?? "unreachable"];
    return { finding: { check, status: "fail", detail, hint }, skewMs: null };
  }
}

function clock(skews: readonly number[]): DoctorFinding {
  const check = "clock";
  const now = new Date().toISOString();
  const [first] = skews.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (first === undefined)
    return { check, status: "warn", detail: `${now}, not compared with another clock` };
  const seconds = Math.round(Math.abs(first) / 1000);
  if (Math.abs(first) <= SKEW_MS)
    return { check, status: "ok", detail: `${now}, the same as at other servers` };
  const detail = `${now} is ${seconds} s ${first > 0 ? "behind" : "ahead of"} the providers' clocks`;
  return {
    check,
    status: "fail",
    detail,
    hint: "Set the clock (NTP): signed webhooks are refused otherwise",
  };
}
