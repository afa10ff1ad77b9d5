import { expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import type { InboundResponse } from "../../../core/ports.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { noKeptPages } from "../../../core/rendering/page/kept-pages.ts";
import { noPagesAhead } from "../../../core/rendering/page/pages-ahead.ts";
import { render } from "../../../core/rendering/page/render.ts";
import { fairSlots } from "../../../core/work/fair-slots.ts";
import { fakeTransport, jsonReply } from "../../fakes/gateway-transport.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";
import { fakeWire, openingBrowser } from "../../fakes/rendering-wire.ts";

/** A browser whose proxy gives it no connection to the site. */
const shut = { result: { errorText: "net::ERR_TUNNEL_CONNECTION_FAILED", frameId: "F" } };
const wire = (): ReturnType<typeof fakeWire> =>
  fakeWire((call, say) => (call.method === "Page.navigate" ? shut : openingBrowser(call, say)));

/** What a rendering fails with, where the site answers the server's own request like this. */
async function failureOf(behave: () => InboundResponse): Promise<unknown> {
  const documents = fakeTransport(behave);
  const deps = {
    browser: { connect: () => Promise.resolve(wire().wire), close: () => Promise.resolve() },
    system: fakeClock().system,
    guarded: true,
    requestMs: 60_000,
    ahead: noPagesAhead,
    kept: noKeptPages,
    documents,
    ads: { hosts: () => Promise.reject(new Error("The lists are not asked for")) },
    slots: fairSlots({ running: 1, waiting: 1, refuse: () => new Error("full") }),
  };
  const policy = { allow: allowNone, caps: {}, unsafeRegex: false };
  const job = jobWith(patternCompiler, { url: "https://example.com/a" }, policy);
  const { signal } = new AbortController();
  const failed = await render(deps, job, {
    signal,
    onBrowserMs: () => undefined,
    action: () => Promise.resolve(null),
  }).catch((error: unknown) => error);
  expect(documents.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "HEAD https://example.com/a",
  ]);
  return failed;
}

it("a page without a connection fails with the reason that its proxy gave", async () => {
  const nameless = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
  const failed = await failureOf(() => {
    throw new TransportError("unreachable", "no", { cause: nameless });
  });
  expect(failed).toMatchObject({
    kind: "name_not_resolved",
    message: "The page did not load: The host name could not be resolved",
  });
});

it("a page whose site answers by now fails with the browser's reason", async () => {
  expect(await failureOf(() => jsonReply({}))).toMatchObject({
    kind: "connection_closed",
    message: "The page did not load: net::ERR_TUNNEL_CONNECTION_FAILED",
  });
});
