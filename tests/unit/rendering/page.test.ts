import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { ProxyLogin } from "../../../core/ports.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { jobWith, type Job } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import { noKeptPages } from "../../../core/rendering/page/kept-pages.ts";
import { noPagesAhead } from "../../../core/rendering/page/pages-ahead.ts";
import { withPage } from "../../../core/rendering/page/with-page.ts";
import { fakeClock, settled } from "../../fakes/rendering-system.ts";
import {
  fakeWire,
  openingBrowser,
  type FakeWire,
  type SeenCall,
} from "../../fakes/rendering-wire.ts";

const jobOf = (body: RenderBody): Job =>
  jobWith(patternCompiler, body, { allow: allowNone, caps: {}, unsafeRegex: false });

const run = async (
  job: Job,
  use: (fake: FakeWire, page: Page) => Promise<void>,
  guarded = true,
  login: ProxyLogin | null = null,
): Promise<FakeWire> => {
  const fake = fakeWire(openingBrowser);
  const browser = { connect: () => Promise.resolve(fake.wire), close: () => Promise.resolve() };
  const deps = {
    browser,
    system: fakeClock().system,
    guarded,
    login: () => login,
    requestMs: 60_000,
    ahead: noPagesAhead,
    kept: noKeptPages,
  };
  await withPage(deps, job, new AbortController().signal, (page) => use(fake, page));
  return fake;
};

const pause = (fake: FakeWire, requestId: string, url: string, extra: object = {}): void => {
  const request = { url, headers: { accept: "*/*" } };
  fake.say({
    method: "Fetch.requestPaused",
    params: { requestId, request, frameId: "T", resourceType: "Image", ...extra },
    sessionId: "S",
  });
};

const answerTo = (fake: FakeWire, requestId: string): SeenCall | undefined =>
  fake.calls.find(
    ({ method, params }) => method.startsWith("Fetch.") && params["requestId"] === requestId,
  );

describe("withPage()", () => {
  it("intercepts requests before the page runs", async () => {
    const fake = await run(jobOf({ url: "http://example.com/" }), () => Promise.resolve());
    const methods = fake.calls
      .filter(({ sessionId }) => sessionId === "S")
      .map(({ method }) => method);
    expect(methods.indexOf("Fetch.enable")).toBeGreaterThanOrEqual(0);
    expect(methods.indexOf("Runtime.runIfWaitingForDebugger")).toBeGreaterThan(
      methods.indexOf("Fetch.enable"),
    );
  });

  it("disposes of its context when the work is done, and when it fails", async () => {
    const failure = new Error("work failed");
    for (const work of [() => Promise.resolve(), () => Promise.reject(failure)]) {
      const fake = fakeWire(openingBrowser);
      const browser = { connect: () => Promise.resolve(fake.wire), close: () => Promise.resolve() };
      const deps = {
        browser,
        system: fakeClock().system,
        guarded: true,
        requestMs: 60_000,
        ahead: noPagesAhead,
        kept: noKeptPages,
      };
      await withPage(deps, jobOf({ html: "x" }), new AbortController().signal, work).catch(
        (error: unknown) => expect(error).toBe(failure),
      );
      expect(fake.calls.at(-1)).toMatchObject({
        method: "Target.disposeBrowserContext",
        params: { browserContextId: "C" },
      });
      await settled();
      expect(fake.closed).toBe(true);
    }
  });

  it("disposes of its context on abort", async () => {
    const fake = fakeWire(openingBrowser);
    const browser = { connect: () => Promise.resolve(fake.wire), close: () => Promise.resolve() };
    const stop = new AbortController();
    const pending = withPage(
      {
        browser,
        system: fakeClock().system,
        guarded: true,
        requestMs: 60_000,
        ahead: noPagesAhead,
        kept: noKeptPages,
      },
      jobOf({ html: "x" }),
      stop.signal,
      (page) => {
        stop.abort(new Error("client left"));
        return page.call("Page.enable");
      },
    );
    await expect(pending).rejects.toThrow("client left");
    expect(fake.calls.at(-1)?.method).toBe("Target.disposeBrowserContext");
  });

  it("refuses private addresses and local schemes to the page's requests", async () => {
    await run(jobOf({ url: "http://example.com/" }), async (fake) => {
      const urls = [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "chrome://version",
        "ftp://x/",
      ];
      for (const url of urls) pause(fake, url, url);
      pause(fake, "public", "http://example.org/a.png");
      pause(fake, "inline", "data:image/gif;base64,R0lGOD");
      await settled();
      for (const url of urls) expect(answerTo(fake, url)?.method, url).toBe("Fetch.failRequest");
      expect(answerTo(fake, "public")?.method).toBe("Fetch.continueRequest");
      expect(answerTo(fake, "inline")?.method).toBe("Fetch.continueRequest");
    });
  });

  it("keeps the page when it wants to go where it may not, and tells so", async () => {
    const job = jobOf({ url: "http://example.com/", rejectRequestPattern: ["never"] });
    await run(job, async (fake, page) => {
      const go = (networkId: string, url: string, extra: object = {}): void =>
        pause(fake, networkId + url, url, { resourceType: "Document", networkId, ...extra });
      page.navigating();
      go("own", "http://example.com/");
      go("own", "http://127.0.0.1/redirect");
      go("later", "http://127.0.0.1/later");
      go("later2", "http://example.com/never");
      const proxyStatus = "causey; error=destination_ip_prohibited";
      const responseHeaders = [{ name: "Proxy-Status", value: proxyStatus }];
      go("later3", "http://rebound.example/", { responseStatusCode: 403, responseHeaders });
      go("later4", "http://dead.example/", { responseErrorReason: "Failed" });
      go("own", "http://example.com/end", { responseStatusCode: 403, responseHeaders });
      go("later5", "http://example.org/", { responseStatusCode: 404, responseHeaders: [] });
      await settled();
      const answers = fake.calls.filter(
        ({ method }) => method.startsWith("Fetch.") && method !== "Fetch.enable",
      );
      expect(
        answers.map(({ method, params }) => [
          method,
          params["responseCode"] ?? params["errorReason"],
        ]),
      ).toEqual([
        ["Fetch.continueRequest", undefined],
        ["Fetch.failRequest", "BlockedByClient"],
        ["Fetch.fulfillRequest", 204],
        ["Fetch.fulfillRequest", 204],
        ["Fetch.fulfillRequest", 204],
        ["Fetch.failRequest", "Aborted"],
        ["Fetch.continueRequest", undefined],
        ["Fetch.continueRequest", undefined],
      ]);
      expect(page.refused).toEqual([
        { url: "http://127.0.0.1/later", reason: "forbidden" },
        { url: "http://example.com/never", reason: "blocked" },
        { url: "http://rebound.example/", reason: "forbidden" },
        { url: "http://dead.example/", reason: "unreachable" },
      ]);
      for (let i = 0; i < 50; i++) go(`loop${i}`, `http://127.0.0.1/${i}`);
      await settled();
      expect(page.refused).toHaveLength(10);
    });
  });

  it("counts a document as loaded when the page stops loading because it wanted to leave", async () => {
    await run(jobOf({ url: "http://example.com/" }), async (fake, page) => {
      const say = (method: string, params: object): void =>
        fake.say({ method, params: { frameId: "T", ...params }, sessionId: "S" });
      let isLoaded = false;
      page.navigating();
      page.lifecycle.restart("replaced");
      const loaded = page.lifecycle
        .reached(["DOMContentLoaded", "load"], new AbortController().signal)
        .then(() => (isLoaded = true));
      pause(fake, "1", "http://example.com/", { resourceType: "Document", networkId: "own" });
      say("Page.lifecycleEvent", { name: "init", loaderId: "own" });
      say("Page.frameStoppedLoading", {});
      await settled();
      expect([isLoaded, page.lifecycle.isCut]).toEqual([false, false]);
      pause(fake, "2", "http://127.0.0.1/", { resourceType: "Document", networkId: "later" });
      say("Page.frameStoppedLoading", {});
      await loaded;
      expect(page.lifecycle.isCut).toBe(true);
      say("Page.lifecycleEvent", { name: "init", loaderId: "next" });
      expect(page.lifecycle.isCut).toBe(false);
    });
  });

  it("fails a wait for a document that breaks off, and for no other one", async () => {
    await run(jobOf({ url: "http://example.com/" }), async (fake, page) => {
      const say = (method: string, params: object): void =>
        fake.say({ method, params: { frameId: "T", ...params }, sessionId: "S" });
      const failed = (requestId: string, canceled = false): void =>
        say("Network.loadingFailed", {
          requestId,
          canceled,
          errorText: "net::ERR_CONNECTION_RESET",
        });
      const wait = (): Promise<void> =>
        page.lifecycle.reached(["DOMContentLoaded"], new AbortController().signal);
      page.lifecycle.restart("replaced");
      say("Page.lifecycleEvent", { name: "init", loaderId: "own" });
      const loaded = wait();
      failed("a picture");
      failed("own", true);
      say("Page.lifecycleEvent", { name: "DOMContentLoaded", loaderId: "own" });
      await loaded;
      failed("own");
      await wait();
      say("Page.lifecycleEvent", { name: "init", loaderId: "next" });
      const broken = wait();
      failed("next");
      await expect(broken).rejects.toMatchObject({ kind: "connection_closed" });
      await expect(wait()).rejects.toMatchObject({ kind: "connection_closed" });
      page.lifecycle.restart("replaced");
      say("Page.lifecycleEvent", { name: "DOMContentLoaded", loaderId: "other" });
      await wait();
    });
  });

  it("knows the way to the document that is shown, without credentials", async () => {
    await run(jobOf({ url: "http://example.com/" }), async (fake, page) => {
      const answered = (url: string, status: number, headers: object): object => ({
        url,
        status,
        headers,
        mimeType: "text/html",
      });
      const say = (method: string, params: object): void =>
        fake.say({ method, params: { frameId: "T", type: "Document", ...params }, sessionId: "S" });
      const from = { "Set-Cookie": "a=b", "X-From": "1" };
      const redirectResponse = answered("http://example.com/", 301, from);
      const shown = answered("http://example.com/new", 200, { Server: "s", Connection: "close" });
      say("Network.requestWillBeSent", { loaderId: "L", redirectResponse });
      say("Network.responseReceived", { loaderId: "L", response: shown });
      expect(page.load().response).toBe(null);
      say("Page.frameNavigated", { frame: { id: "T", loaderId: "L" } });
      for (let i = 0; i < 20; i++)
        say("Network.responseReceived", {
          loaderId: `later${i}`,
          response: answered("http://example.org/", 204, {}),
        });
      expect(page.load()).toMatchObject({
        redirects: [{ url: "http://example.com/", status: 301, headers: { "x-from": "1" } }],
        response: { url: "http://example.com/new", status: 200, headers: { server: "s" } },
      });
      expect(JSON.stringify(page.load())).not.toMatch(/cookie|connection/iu);
      expect(page.lastResponse()?.status).toBe(204);
    });
  });

  it("sends extra headers to the origin of the URL only, redirects included", async () => {
    const job = jobOf({ url: "http://example.com/", setExtraHTTPHeaders: { "X-Secret": "s" } });
    await run(job, async (fake) => {
      pause(fake, "own", "http://example.com/a.png");
      pause(fake, "other", "http://example.org/a.png");
      // A redirect comes with the headers of the request before it.
      const request = { url: "http://example.org/b", headers: { "x-secret": "s" } };
      pause(fake, "redirect", request.url, { request });
      await settled();
      const headersOf = (id: string): unknown => answerTo(fake, id)?.params["headers"];
      expect(headersOf("own")).toContainEqual({ name: "x-secret", value: "s" });
      expect(JSON.stringify(headersOf("other"))).not.toContain("x-secret");
      expect(headersOf("redirect")).toEqual([]);
    });
  });

  it("gives name and password to the origin of the URL only, and once", async () => {
    const job = jobOf({
      url: "http://example.com/",
      authenticate: { username: "u", password: "p" },
    });
    await run(job, async (fake) => {
      const ask = (requestId: string, origin: string, source = "Server"): void =>
        fake.say({
          method: "Fetch.authRequired",
          params: { requestId, authChallenge: { origin, source } },
          sessionId: "S",
        });
      ask("own", "http://example.com");
      ask("own", "http://example.com");
      ask("other", "http://example.org");
      ask("proxy", "http://example.com", "Proxy");
      await settled();
      const responses = fake.calls
        .filter(({ method }) => method === "Fetch.continueWithAuth")
        .map(({ params }) => (params["authChallengeResponse"] as { response: string }).response);
      expect(responses).toEqual(["ProvideCredentials", "CancelAuth", "CancelAuth", "CancelAuth"]);
    });
  });

  const login = { url: "http://egress.invalid/", username: "browser", password: "secret" };

  it("tells the proxy its login, once for each request, and nobody else", async () => {
    const asked = async (fake: FakeWire): Promise<void> => {
      const ask = (requestId: string, origin: string, source: string): void =>
        fake.say({
          method: "Fetch.authRequired",
          params: { requestId, authChallenge: { origin, source } },
          sessionId: "S",
        });
      ask("proxy", "http://127.0.0.1:3128", "Proxy");
      ask("proxy", "http://127.0.0.1:3128", "Proxy");
      ask("site", "http://127.0.0.1:3128", "Server");
      ask("own", "http://example.com", "Server");
      await settled();
      const told = fake.calls.flatMap(({ params }) => params["authChallengeResponse"] ?? []);
      const refused = { response: "CancelAuth" };
      expect(told[0]).toMatchObject({ response: "ProvideCredentials", password: "secret" });
      expect(told.slice(1)).toEqual([refused, refused, refused]);
    };
    await run(jobOf({ url: "http://example.com/" }), asked, true, login);
  });

  it("logs in before anything is shown, whatever that is", async () => {
    for (const body of [
      { html: "<script>new WebSocket('ws://example.com')</script>" },
      { html: "<img src='http://example.com/logo.png'>" },
      { html: "<p>", setJavaScriptEnabled: false },
      { url: "http://example.com/" },
    ]) {
      let before: SeenCall[] = [];
      await run(
        jobOf(body),
        (fake) => {
          before = fake.calls.slice();
          return Promise.resolve();
        },
        true,
        login,
      );
      const asks = before.filter(({ params }) =>
        String(params["expression"]).includes(JSON.stringify(login.url)),
      );
      expect(asks).toHaveLength(1);
    }
  });

  it("delivers html under its URL instead of loading it", async () => {
    await run(jobOf({ url: "http://example.com/a/", html: "<p>é" }), async (fake, page) => {
      page.navigating();
      pause(fake, "main", "http://example.com/a/", { resourceType: "Document" });
      pause(fake, "again", "http://example.com/a/", { resourceType: "Document" });
      await settled();
      expect(answerTo(fake, "main")).toMatchObject({
        method: "Fetch.fulfillRequest",
        params: { body: "PHA+w6k=" },
      });
      expect(answerTo(fake, "again")?.method).toBe("Fetch.continueRequest");
    });
  });

  it("dismisses dialogs and closes popups", async () => {
    await run(jobOf({ html: "x" }), async (fake) => {
      fake.say({
        method: "Page.javascriptDialogOpening",
        params: { type: "alert" },
        sessionId: "S",
      });
      const targetInfo = { targetId: "P", type: "page", browserContextId: "C" };
      fake.say({ method: "Target.attachedToTarget", params: { sessionId: "S2", targetInfo } });
      await settled();
      expect(fake.calls).toContainEqual(
        expect.objectContaining({
          method: "Page.handleJavaScriptDialog",
          params: { accept: false },
          sessionId: "S",
        }),
      );
      expect(fake.calls).toContainEqual(
        expect.objectContaining({ method: "Target.closeTarget", params: { targetId: "P" } }),
      );
    });
  });

  it("lets go of the targets of other connections at once", async () => {
    await run(jobOf({ html: "x" }), async (fake) => {
      const targetInfo = { targetId: "F", type: "page", browserContextId: "OTHER" };
      fake.say({ method: "Target.attachedToTarget", params: { sessionId: "S9", targetInfo } });
      await settled();
      const methods = fake.calls
        .filter(({ sessionId, params }) => sessionId === "S9" || params["sessionId"] === "S9")
        .map(({ method }) => method);
      expect(methods).toEqual(["Runtime.runIfWaitingForDebugger", "Target.detachFromTarget"]);
    });
  });

  it("refuses WebSockets where no proxy guards the browser", async () => {
    const blocked = (fake: FakeWire): boolean =>
      fake.calls.some(({ method }) => method === "Network.setBlockedURLs");
    expect(blocked(await run(jobOf({ html: "x" }), () => Promise.resolve(), false))).toBe(true);
    expect(blocked(await run(jobOf({ html: "x" }), () => Promise.resolve(), true))).toBe(false);
    expect(
      blocked(
        await run(
          jobOf({ html: "x", rejectResourceTypes: ["websocket"] }),
          () => Promise.resolve(),
          true,
        ),
      ),
    ).toBe(true);
  });
});
