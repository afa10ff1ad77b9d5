import { describe, expect, it } from "vitest";
import {
  httpChecker,
  type HttpCheckerOptions,
} from "../../../../core/gateway/guard/checkers/http-checker.ts";
import type { CheckResult } from "../../../../core/gateway/guard/detect/checker.ts";
import type { InboundResponse, OutboundRequest, Platform } from "../../../../core/ports.ts";
import { fakePlatform } from "../../../fakes/auth-platform.ts";
import { bytes } from "../../../fakes/gateway-transport.ts";

const { signal } = new AbortController();
const url = "http://10.0.0.7/check";

interface Played {
  readonly sent: OutboundRequest[];
  readonly logged: unknown[];
  check(text: string, phase?: "prompt" | "response"): Promise<CheckResult>;
}

/** A checker whose server answers so. */
function played(
  answer: (request: OutboundRequest) => Promise<InboundResponse> | InboundResponse,
  options: Partial<HttpCheckerOptions> = {},
  system: Partial<Platform["system"]> = {},
): Played {
  const sent: OutboundRequest[] = [];
  const logged: unknown[] = [];
  const platform = fakePlatform(
    { now: 0 },
    {
      send: async (request) => {
        sent.push(request);
        return answer(request);
      },
    },
  );
  const log: Platform["log"] = (level, message, more) => void logged.push([level, message, more]);
  const parts = { ...platform, log, system: { ...platform.system, ...system } };
  const checker = httpChecker("words", { url, ...options }, parts);
  return {
    sent,
    logged,
    check: async (text, phase = "prompt") => checker.check(text, phase, signal),
  };
}

const json = (body: unknown, status = 200): InboundResponse => ({
  status,
  headers: [["content-type", "application/json"]],
  body: bytes(typeof body === "string" ? body : JSON.stringify(body)),
});

describe("httpChecker()", () => {
  it("sends a text as LiteLLM's generic API has it, with its headers", async () => {
    const { check, sent } = played(() => json({ action: "NONE" }), { headers: { "x-key": "k" } });
    expect(await check("Hello")).toEqual({ action: "allow", findings: [] });
    await check("Hi", "response");
    expect(sent.map(({ method, url: to }) => [method, to])).toEqual([
      ["POST", url],
      ["POST", url],
    ]);
    expect(sent[0]?.headers).toContainEqual(["x-key", "k"]);
    const bodies = sent.map(({ body }) => JSON.parse(new TextDecoder().decode(body as Uint8Array)));
    const others = { request_data: {}, additional_provider_specific_params: {} };
    expect(bodies).toEqual([
      { texts: ["Hello"], input_type: "request", ...others },
      { texts: ["Hi"], input_type: "response", ...others },
    ]);
  });

  it.each([
    [{ verdict: "allow" }, "allow", undefined],
    [{ verdict: true, data: { reason: "fine" } }, "allow", undefined],
    [{ action: "BLOCKED", blocked_reason: "a word" }, "block", "a word"],
    [{ action: "GUARDRAIL_INTERVENED", texts: ["…"] }, "block", undefined],
    [{ verdict: "block", reason: "r".repeat(500) }, "block", "r".repeat(200)],
    [{ verdict: false, data: { reason: "score" } }, "block", "score"],
    [{ verdict: "flag", reason: 7 }, "flag", undefined],
  ])("understands %j", async (answer, action, reason) => {
    const result = await played(() => json(answer)).check("x");
    expect([result.action, result.findings[0]?.reason]).toEqual([action, reason]);
    expect(result.findings[0]?.onlyFlags === true).toBe(action === "flag");
  });

  const failures: readonly (readonly [string, () => Promise<InboundResponse> | InboundResponse])[] =
    [
      ["a refusal", () => json({ verdict: "allow" }, 500)],
      [
        "a redirect",
        () => ({ ...json(""), status: 302, headers: [["location", "http://x.test"]] }),
      ],
      ["no JSON", () => json("<html>")],
      ["no verdict", () => json({ verdict: "maybe" })],
      ["no connection", () => Promise.reject(new Error("ECONNREFUSED"))],
      ["too long an answer", () => json(`${" ".repeat(70_000)}{"verdict":"allow"}`)],
      [
        "too long a stream",
        () => ({
          ...json(""),
          body: new Response(`${" ".repeat(70_000)}{"verdict":"allow"}`).body,
        }),
      ],
    ];
  it.each(failures)("takes %s for a failure", async (_, answer) => {
    await expect(played(answer).check("x")).rejects.toMatchObject({ kind: "scanner_unavailable" });
    const lenient = played(answer, { onFailure: "allow" });
    expect(await lenient.check("x")).toEqual({ action: "allow", findings: [] });
    expect(lenient.logged).toHaveLength(1);
  });

  it("waits no longer than it may, and ends the request then", async () => {
    let ended = false;
    const never = ({ signal: limit }: OutboundRequest): Promise<InboundResponse> =>
      new Promise((_resolve, reject) => {
        limit?.addEventListener("abort", () => {
          ended = true;
          reject(new Error("aborted"));
        });
      });
    const slept: number[] = [];
    const sleep = async (ms: number): Promise<void> => void slept.push(ms);
    await expect(played(never, { timeoutMs: 70 }, { sleep }).check("x")).rejects.toMatchObject({
      kind: "scanner_unavailable",
      message: 'The checker "words" gave no verdict within 70 ms',
    });
    expect([slept, ended]).toEqual([[70], true]);
  });

  it("sends at most a Mi of characters, and no empty text", async () => {
    const { check, sent } = played(() => json({ action: "NONE" }));
    await check("");
    await expect(check("x".repeat(1024 * 1024 + 1))).rejects.toMatchObject({
      kind: "scanner_unavailable",
    });
    expect(sent).toHaveLength(0);
    await check("x".repeat(1024 * 1024));
    expect(sent).toHaveLength(1);
  });

  it("checks only what it is for", async () => {
    const { check, sent } = played(() => json({ verdict: "block" }), { on: ["response"] });
    expect((await check("x", "prompt")).action).toBe("allow");
    expect((await check("x", "response")).action).toBe("block");
    expect(sent).toHaveLength(1);
  });
});
