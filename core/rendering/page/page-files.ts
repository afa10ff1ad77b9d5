import type { System } from "../../ports.ts";
import { proxyFailure } from "../input/errors.ts";
import type { GateDecision, PageRequest } from "../job/request-gate.ts";
import type { CdpData, CdpEvent } from "../cdp/cdp.ts";

/** A file that a document names and that is missing in what was rendered. */
export interface FailedFile {
  readonly url: string;
  /** The use of the file: `image`, `stylesheet`, `font`, `media`, `script`, or the `document` of a frame. */
  readonly type: string;
  /**
   * `forbidden`: its address is not allowed; `unreachable`: its site did not answer; `status`: it answered with an error;
   * `refused`: the browser may not use it (CORS, CSP); `unreadable`: it is not a picture; `late`: it had not come at the capture.
   */
  readonly reason: "forbidden" | "unreachable" | "status" | "refused" | "unreadable" | "late";
  /** The browser's reason, such as `net::ERR_NAME_NOT_RESOLVED` or the status. */
  readonly detail: string;
}

/** The files that the documents of a page name, in all frames. */
export interface PageFiles {
  /** Feeds an event of any of the page's targets. */
  see(event: CdpEvent): void;
  /** The first ten files that failed. */
  readonly failed: readonly FailedFile[];
  /** The number of all that failed, up to a thousand. */
  readonly failedTotal: number;
  /** Whether one is under way that the page does not look right without. */
  readonly isWaiting: boolean;
  /** Rises with each file that begins and each that ends: what the page said before it rose may be out of date. */
  readonly changes: number;
  /** Resolves when none of those is under way any more, or after `ms`. */
  arrived(ms: number, signal: AbortSignal): Promise<void>;
  /** Forgets the files of the document before, which a kept page has shown. */
  restart(): void;
  /** Counts those that are still under way as failed. */
  noteLate(): void;
  /** Counts pictures that came and cannot be shown as failed. */
  noteUnreadable(urls: readonly string[]): void;
  /** Counts a file that the browser does not ask for as failed. */
  noteRefused(file: NamedFile, detail: string): void;
}

type NamedFile = Pick<FailedFile, "url" | "type">;

/** Failed files that are told, and characters of an address: a page may name any number. */
const FAILED_LIMIT = 10;
/** Failed files that are counted. */
const COUNTED_LIMIT = 1000;
const URL_LIMIT = 500;

/** Types that count: scripts look after what they `fetch` by themselves. */
const types = new Set(["image", "stylesheet", "font", "media", "script", "document"]);

/** Types without which a page does not look right, and which come to an end. */
const looks = new Set(["image", "stylesheet", "font"]);

/** All types that come to an end. */
const ending = new Set([...looks, "script", "document"]);

interface Asked {
  readonly url: string;
  readonly type: string;
  readonly frame: string;
  readonly document: string;
}

/** The facts about a page that {@link followFiles} needs. */
export interface FilesOf {
  readonly system: System;
  /** Returns the id of the main frame: the requests that load the page itself do not count as its files. */
  readonly mainFrame: () => string;
  /** Returns the decision on a file: those that the caller's rules refuse are not missing. */
  readonly decided: (file: PageRequest) => GateDecision;
  /** Whether none may be missing: all are waited for, not only those that the page does not look right without. @default false */
  readonly needsAll?: () => boolean;
}

/** Follows which files the documents of a page ask for, and which of them fail. */
export function followFiles({ system, mainFrame, decided, needsAll }: FilesOf): PageFiles {
  const [open, failures] = [openFiles(), failureList(decided)];
  const noteOwn = (file: NamedFile, reason: FailedFile["reason"], detail: string): void =>
    failures.note({ ...file, frame: mainFrame(), document: "" }, reason, detail);
  const watchers = new Set<() => void>();
  const awaited = (): readonly Asked[] => open.of(needsAll?.() === true ? ending : looks);
  const isWaiting = (): boolean => awaited().length > 0;
  const begin = (key: string, params: CdpData): void => {
    const file = fileOf(params);
    const isOwn = file.type === "document" && file.frame === mainFrame();
    // A redirect comes with the same key: the address that the document names is told.
    if (types.has(file.type) && !isOwn) open.begin(key, file);
  };
  const forget = (isFormer: (file: PlaceOfFile) => boolean): void => {
    for (const [key, file] of open.all) if (isFormer(file)) open.end(key);
    failures.forget(isFormer);
  };
  return {
    see({ method, params }) {
      const key = String(params["requestId"]);
      const file = open.all.get(key);
      if (method === "Network.requestWillBeSent") begin(key, params);
      else if (method === "Network.responseReceived") {
        const failure = answerFailure(params["response"]);
        if (file !== undefined && failure !== null) failures.note(file, ...failure);
      } else if (method === "Network.loadingFinished") open.end(key);
      else if (method === "Network.loadingFailed") {
        open.end(key);
        if (file !== undefined && params["canceled"] !== true)
          failures.note(file, ...failureOf(params));
      } else if (method === "Page.frameDetached")
        forget(({ frame }) => frame === String(params["frameId"]));
      else if (method === "Page.frameNavigated") forget(isOfFormer(params["frame"]));
      else return;
      if (!isWaiting()) for (const changed of watchers) changed();
    },
    get failed() {
      return failures.first(FAILED_LIMIT);
    },
    get failedTotal() {
      return failures.total();
    },
    get isWaiting() {
      return isWaiting();
    },
    get changes() {
      return open.changes;
    },
    arrived: (ms, signal) => nextCall(watchers, ms, system, signal),
    restart: () => forget(() => true),
    noteUnreadable(urls) {
      for (const url of urls) noteOwn({ url, type: "image" }, "unreadable", "Not a picture");
    },
    noteRefused: (file, detail) => noteOwn(file, "refused", detail),
    noteLate() {
      for (const file of awaited())
        failures.note(file, "late", "It had not come when the page was captured");
    },
  };
}

interface OpenFiles {
  readonly all: ReadonlyMap<string, Asked>;
  readonly changes: number;
  of(wanted: ReadonlySet<string>): readonly Asked[];
  begin(key: string, file: Asked): void;
  end(key: string): void;
}

/** The files under way, by the key of their request, and how often one began or ended. */
function openFiles(): OpenFiles {
  const all = new Map<string, Asked>();
  let changes = 0;
  return {
    all,
    get changes() {
      return changes;
    },
    of: (wanted) => [...all.values()].filter(({ type }) => wanted.has(type)),
    begin(key, file) {
      if (all.has(key)) return;
      all.set(key, file);
      changes++;
    },
    end(key) {
      if (all.delete(key)) changes++;
    },
  };
}

type PlaceOfFile = Pick<Asked, "frame" | "document">;

/** Whether a file is of the document that a frame had before the one that is told. */
function isOfFormer(told: unknown): (file: PlaceOfFile) => boolean {
  const { id, loaderId } = (told ?? {}) as { readonly id?: string; readonly loaderId?: string };
  return ({ frame, document }) => frame === id && document !== loaderId;
}

interface FailureList {
  note(file: Asked, reason: FailedFile["reason"], detail: string): void;
  forget(isFormer: (file: PlaceOfFile) => boolean): void;
  first(count: number): readonly FailedFile[];
  total(): number;
}

/** The first failures, each address once, without what the caller refuses. */
function failureList(decided: FilesOf["decided"]): FailureList {
  let list: (FailedFile & PlaceOfFile)[] = [];
  return {
    note(file, reason, detail) {
      const url = file.url.slice(0, URL_LIMIT);
      if (list.length >= COUNTED_LIMIT || list.some((other) => other.url === url)) return;
      const decision = decided({ url: file.url, type: file.type, main: false });
      if (decision === "forbidden")
        list.push({ ...file, url, reason: decision, detail: "The address is not allowed" });
      else if (decision === "continue")
        list.push({ ...file, url, reason, detail: detail.slice(0, 100) });
    },
    forget(isFormer) {
      list = list.filter((file) => !isFormer(file));
    },
    first: (count) =>
      list.slice(0, count).map(({ url, type, reason, detail }) => ({ url, type, reason, detail })),
    total: () => list.length,
  };
}

/** Resolves with the next call of the functions in `watchers`, or after `ms`. */
async function nextCall(
  watchers: Set<() => void>,
  ms: number,
  system: System,
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const changed = (): void => done.abort();
  watchers.add(changed);
  try {
    await system.sleep(ms, AbortSignal.any([signal, done.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!done.signal.aborted) throw error;
  } finally {
    watchers.delete(changed);
  }
}

function fileOf(params: CdpData): Asked {
  const { url = "" } = (params["request"] ?? {}) as { readonly url?: string };
  const isInline = /^(?:data|blob):/iu.test(url);
  return {
    url,
    // Inline files are part of the document.
    type: isInline ? "" : String(params["type"]).toLowerCase(),
    frame: String(params["frameId"]),
    document: String(params["loaderId"]),
  };
}

/** The failure that an answer is; null for any that can be used. */
function answerFailure(response: unknown): [FailedFile["reason"], string] | null {
  const { status, headers = {} } = response as {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
  };
  if (status < 400) return null;
  const said = Object.entries(headers).find(([name]) => name.toLowerCase() === "proxy-status");
  const failure = proxyFailure(said?.[1] ?? "");
  if (failure === null) return ["status", String(status)];
  return [failure.kind === "blocked_url" ? "forbidden" : "unreachable", failure.message];
}

function failureOf(params: CdpData): [FailedFile["reason"], string] {
  const { errorText, blockedReason, corsErrorStatus } = params as {
    readonly errorText?: string;
    readonly blockedReason?: string;
    readonly corsErrorStatus?: { readonly corsError?: string };
  };
  const refusal = corsErrorStatus?.corsError ?? blockedReason;
  if (refusal !== undefined) return ["refused", refusal];
  const text = errorText ?? "";
  return [text.includes("ERR_BLOCKED_BY") ? "refused" : "unreachable", text];
}
