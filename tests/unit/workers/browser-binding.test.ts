import { describe, expect, it } from "vitest";
import { boundBrowser } from "../../../adapters/workers/browser-binding.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";

async function failureOf(answer: () => Promise<Response>, signal?: AbortSignal) {
  const { system } = fakeClock();
  const browser = boundBrowser({ fetch: answer }, system);
  const error: unknown = await browser
    .connect(signal === undefined ? {} : { signal })
    .catch((thrown: unknown) => thrown);
  return { error, trouble: browser.trouble?.().failure };
}

describe("a browser binding that gives no browser", () => {
  it("is an answer of 503 with its reason", async () => {
    const { error, trouble } = await failureOf(() =>
      Promise.reject(new Error("Failed to launch:\n  getaddrinfo ENOTFOUND cdn.example")),
    );
    const message =
      "The browser did not start: Failed to launch: getaddrinfo ENOTFOUND cdn.example";
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ kind: "no_browser", message });
    expect(trouble).toBe(message);
  });

  it("names the status that it answered, and when to try again", async () => {
    const { error } = await failureOf(() =>
      Promise.resolve(new Response("busy", { status: 429, headers: { "retry-after": "7" } })),
    );
    expect(error).toMatchObject({
      kind: "no_browser",
      message: "The browser did not start: its binding answered 429",
      options: { headers: { "retry-after": "7" } },
    });
  });

  it("says nothing of the browser where the caller left", async () => {
    const gone = new Error("gone");
    const { error, trouble } = await failureOf(() => Promise.reject(gone), AbortSignal.abort(gone));
    expect(error).toBe(gone);
    expect(trouble).toBeNull();
  });
});
