import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { decideSteps } from "../../../core/rendering/job/request-gate.ts";
import { runThrough } from "../../../core/work/background.ts";
import { waitForFiles } from "../../../core/rendering/page/wait-for-files.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { followFiles, type PageFiles } from "../../../core/rendering/page/page-files.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import { fakeClock, settled, type FakeClock } from "../../fakes/rendering-system.ts";

const forever = new AbortController().signal;

interface Setting {
  readonly clock: FakeClock;
  readonly files: PageFiles;
  readonly say: (method: string, params: object) => void;
  /** Asks for a file of the main frame's document. */
  readonly ask: (requestId: string, url: string, more?: object) => void;
}

function setting(body: Partial<RenderBody> = {}, needsAll = false): Setting {
  const clock = fakeClock();
  const policy = { allow: allowNone, caps: {}, unsafeRegex: false };
  const { rules } = jobWith(patternCompiler, { html: "a", ...body }, policy);
  const files = followFiles({
    system: clock.system,
    mainFrame: () => "M",
    decided: (file) => runThrough(decideSteps(file, rules)),
    needsAll: () => needsAll,
  });
  const say: Setting["say"] = (method, params) =>
    files.see({ method, params: { ...params }, session: "S" });
  const ask: Setting["ask"] = (requestId, url, more = {}) =>
    say("Network.requestWillBeSent", {
      requestId,
      request: { url },
      type: "Image",
      frameId: "M",
      loaderId: "L",
      ...more,
    });
  return { clock, files, say, ask };
}

const logo = "https://example.com/logo.png";
const answered = (requestId: string, status: number, headers: object = {}): object => ({
  requestId,
  response: { status, headers },
});

describe("followFiles()", () => {
  it("names a file that failed, and why", () => {
    const { files, say, ask } = setting();
    const failed = (id: string, more: object): void => {
      ask(id, `https://example.com/${id}`);
      say("Network.loadingFailed", { requestId: id, ...more });
    };
    failed("a", { errorText: "net::ERR_NAME_NOT_RESOLVED" });
    failed("b", { errorText: "net::ERR_FAILED", corsErrorStatus: { corsError: "Missing" } });
    failed("c", { errorText: "net::ERR_BLOCKED_BY_CSP", blockedReason: "csp" });
    failed("d", { errorText: "net::ERR_BLOCKED_BY_ORB" });
    failed("e", { errorText: "net::ERR_ABORTED", canceled: true });
    const answers: readonly (readonly [string, number, object])[] = [
      ["f", 404, {}],
      ["g", 403, { "Proxy-Status": "causey; error=destination_ip_prohibited" }],
      ["h", 502, { "proxy-status": "causey; error=dns_error" }],
      ["i", 200, {}],
    ];
    for (const [id, status, headers] of answers) {
      ask(id, `https://example.com/${id}`);
      say("Network.responseReceived", answered(id, status, headers));
      say("Network.loadingFinished", { requestId: id });
    }
    expect(files.failed.map(({ url, reason, detail }) => [url.slice(-1), reason, detail])).toEqual([
      ["a", "unreachable", "net::ERR_NAME_NOT_RESOLVED"],
      ["b", "refused", "Missing"],
      ["c", "refused", "csp"],
      ["d", "refused", "net::ERR_BLOCKED_BY_ORB"],
      ["f", "status", "404"],
      ["g", "forbidden", expect.any(String)],
      ["h", "unreachable", expect.any(String)],
    ]);
  });

  it("names what is not allowed, and nothing that the caller refuses", () => {
    const { files, say, ask } = setting({ rejectRequestPattern: ["logo"] });
    ask("a", logo);
    ask("b", "http://127.0.0.1/x.png");
    for (const requestId of ["a", "b"])
      say("Network.loadingFailed", { requestId, errorText: "net::ERR_BLOCKED_BY_CLIENT" });
    files.noteUnreadable([logo]);
    expect(files.failed).toMatchObject([{ url: "http://127.0.0.1/x.png", reason: "forbidden" }]);
  });

  it("names an address once, ten of them, and the one that the document has", () => {
    const { files, say, ask } = setting();
    for (const url of [logo, logo, ...Array.from({ length: 30 }, (_, n) => `${logo}?${n}`)]) {
      ask(url, url);
      // On the way to another one.
      ask(url, "https://example.com/elsewhere", { redirectResponse: {} });
      say("Network.responseReceived", answered(url, 500));
      say("Network.loadingFinished", { requestId: url });
    }
    expect(files.failed.map(({ url }) => url)).toEqual([
      logo,
      ...Array.from({ length: 9 }, (_, n) => `${logo}?${n}`),
    ]);
  });

  it("counts neither the page itself nor what scripts ask for nor what is inline", () => {
    const { files, say, ask } = setting();
    ask("a", "https://example.com/", { type: "Document" });
    ask("b", logo, { type: "Fetch" });
    ask("c", "data:image/png,x");
    expect(files.isWaiting).toBe(false);
    for (const requestId of ["a", "b", "c"]) say("Network.loadingFailed", { requestId });
    expect(files.failed).toEqual([]);
    ask("d", "https://example.com/frame", { type: "Document", frameId: "F" });
    say("Network.responseReceived", answered("d", 404));
    expect(files.failed).toMatchObject([{ type: "document", reason: "status" }]);
  });

  it("forgets the files of a document that is left", () => {
    const { files, say, ask } = setting();
    ask("a", logo);
    ask("b", `${logo}?2`);
    say("Network.responseReceived", answered("a", 404));
    expect([files.failed.length, files.isWaiting]).toEqual([1, true]);
    say("Page.frameNavigated", { frame: { id: "M", loaderId: "next" } });
    expect([files.failed, files.isWaiting]).toEqual([[], false]);
  });

  it("waits for pictures, style sheets and fonts until they are there, or the time is over", async () => {
    const { clock, files, say, ask } = setting();
    for (const type of ["Image", "Stylesheet", "Font"]) ask(type, `${logo}?${type}`, { type });
    ask("Media", logo, { type: "Media" });
    const state = { done: false, late: false };
    void files.arrived(5000, forever).then(() => (state.done = true));
    for (const requestId of ["Image", "Stylesheet"]) say("Network.loadingFinished", { requestId });
    await settled();
    expect([state.done, files.isWaiting]).toEqual([false, true]);
    say("Network.loadingFinished", { requestId: "Font" });
    await settled();
    expect([state.done, files.isWaiting]).toEqual([true, false]);
    ask("never", `${logo}?never`);
    void files.arrived(5000, forever).then(() => (state.late = true));
    await clock.advance(4999);
    expect(state.late).toBe(false);
    await clock.advance(1);
    expect(state.late).toBe(true);
    files.noteLate();
    expect(files.failed).toMatchObject([{ url: `${logo}?never`, reason: "late" }]);
  });

  it("waits for scripts and frames where none may be missing, and not for media", () => {
    const { files, say, ask } = setting({}, true);
    for (const type of ["Script", "Document", "Media"])
      ask(type, `${logo}?${type}`, { type, frameId: type });
    for (const requestId of ["Script", "Document"]) {
      expect(files.isWaiting).toBe(true);
      say("Network.loadingFinished", { requestId });
    }
    expect(files.isWaiting).toBe(false);
  });

  it("ends the wait with the request", async () => {
    const { files, ask } = setting();
    ask("a", logo);
    const stop = new AbortController();
    const waiting = files.arrived(5000, stop.signal);
    stop.abort(new Error("client left"));
    await expect(waiting).rejects.toThrow("client left");
  });
});

describe("waitForFiles()", () => {
  it("asks the page again when a picture came in the same moment as its answer", async () => {
    const { clock, files, say, ask } = setting();
    ask("a", logo);
    const answers = [[], [logo]];
    const page = {
      files,
      filesMs: 1000,
      isPlain: false,
      system: clock.system,
      world: { context: 1 },
      call() {
        // Two messages of Chromium in one part of its pipe: this one is handled before the wait for the answer goes on.
        say("Network.loadingFinished", { requestId: "a" });
        return Promise.resolve({ result: { value: answers.shift() } });
      },
    } as unknown as Page;
    await waitForFiles(page, forever, false);
    expect(files.failed).toMatchObject([{ url: logo, reason: "unreadable" }]);
    expect(answers).toEqual([]);
  });
});
