import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { spoken } from "../http/native-model.ts";
import type { TargetName } from "../http/target.ts";
import type { LastingQuestion } from "./ai-binding-app.ts";
import { type BindingHost, startBindingHost } from "./ai-binding-host.ts";
import { type Asked, askAiSdk, type Outcome } from "./ai-sdk.ts";
import { cutProxy } from "./cut-proxy.ts";
import { rowsOf } from "./gateway-native.ts";
import { halfway, startSteppedModel, type SteppedModel } from "./stepped-model.ts";

let model: SteppedModel;
let host: BindingHost;
beforeAll(async () => {
  model = await startSteppedModel();
  host = await startBindingHost(inject("target") as TargetName, model.url);
});
afterAll(async () => {
  await host.stop();
  model.close();
});
beforeEach(() => model.hold());

const question = (eventId: string): Asked => ({
  models: ["chat:gpt-4o"],
  stream: true,
  gateway: "open",
  headers: {},
  options: { eventId },
});
const rows = (eventId: string) => rowsOf(eventId, 1, "open", `${host.url}/lasting`);

/** What `env.AI` is on the hosted service, over HTTP: one connection for the run, another one for the rest. */
function remoteBinding(runUrl: string, tamper: (path: string) => string = (path) => path) {
  const resumed: string[] = [];
  return {
    resumed,
    run: (steps: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<Response> =>
      fetch(`${runUrl}/lasting/v1/local/open`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(steps),
        ...(signal && { signal }),
      }),
    fetch(input: string, init: RequestInit): Promise<Response> {
      const { origin, pathname, search } = new URL(input);
      resumed.push(origin + pathname + search);
      const below = `${host.url}/lasting/client/v4/accounts/local`;
      return fetch(below + tamper(pathname + search), init);
    },
  };
}

/** Tells when a text has passed. */
function watched(response: Response, text: string, onSeen: () => void): Response {
  const decoder = new TextDecoder();
  let seen = "";
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      seen += decoder.decode(chunk, { stream: true });
      if (seen.includes(text)) onSeen();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(watch), response);
}

describe("ai with ai-gateway-provider and sseKeepAliveSeconds", () => {
  it("reads past the comments of a silent stream", async () => {
    let comments = 0;
    const run = async (steps: unknown): Promise<Response> => {
      const response = await fetch(`${host.url}/alive/v1/local/open`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(steps),
      });
      return watched(response, ":\n\n:\n\n", () => {
        comments++;
        model.release();
      });
    };
    const asked = askAiSdk({ binding: { run } }, question(randomUUID()));
    expect(await asked).toMatchObject({ text: spoken, tokens: [11, 4] });
    expect(comments).toBeGreaterThan(0);
  });
});

describe("ai with ai-gateway-provider and resume", () => {
  it("does not notice that its connection to the gateway was lost", async () => {
    const proxy = await cutProxy(host.url, halfway);
    const eventId = randomUUID();
    const before = { requests: model.requests, aborted: model.aborted };
    const binding = remoteBinding(proxy.url);
    const asked = askAiSdk({ binding, resume: { binding, gateway: "open" } }, question(eventId));
    await proxy.cut;
    model.release();
    expect(await asked).toMatchObject({ text: spoken, tokens: [11, 4] });
    proxy.close();
    const address =
      /^https:\/\/workers-binding\.ai\/ai-gateway\/gateways\/open\/run\/[0-9a-f]{32}\/resume\?from=[0-2]$/;
    expect(binding.resumed).toEqual([expect.stringMatching(address)]);
    expect(await rows(eventId)).toMatchObject([
      { success: true, cached: false, tokens_in: 11, tokens_out: 4 },
    ]);
    expect([model.requests, model.aborted]).toEqual([before.requests + 1, before.aborted]);
  });

  it("is told when there is nothing to go on from", async () => {
    const proxy = await cutProxy(host.url, halfway);
    const wrong = (path: string): string =>
      path.replace(/run\/[0-9a-f]{32}/, `run/${"0".repeat(32)}`);
    const binding = remoteBinding(proxy.url, wrong);
    const asked = askAiSdk(
      { binding, resume: { binding, gateway: "open" } },
      question(randomUUID()),
    );
    await proxy.cut;
    model.release();
    const { error } = await asked;
    expect(error?.root).toContain("(404)");
    proxy.close();
  });

  it("goes on in the process of the gateway, too", async () => {
    model.release();
    for (const cut of [1, 2, 4]) {
      const eventId = randomUUID();
      const asked: LastingQuestion = { ...question(eventId), cut };
      const response = await fetch(`${host.url}/lasting/ask`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(asked),
      });
      const outcome = (await response.json()) as Outcome;
      expect(outcome).toMatchObject({ text: spoken, tokens: [11, 4] });
      expect(await rows(eventId)).toMatchObject([{ success: true, tokens_out: 4 }]);
    }
  });
});
