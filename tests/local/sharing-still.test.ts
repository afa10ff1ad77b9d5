import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { openDataDir } from "../../adapters/shared/data-dir.ts";
import { heartbeat, type Heartbeat } from "../../adapters/peers/heartbeat.ts";
import type { SharedActors } from "../../adapters/processes/owned-actors.ts";
import type { ActorKind, ActorRef, Log } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";
import { host } from "../config/shared.ts";
import { closeShared, openShared, speaks } from "./open-shared.ts";
import { lineWith, start, type Child } from "./runtimes.ts";

/** Only the lock owner runs it. */
const kind: ActorKind = { name: "still", schema: [], start: () => ({ methods: {} }) };
const HEARTBEAT_MS = 100;

let children: Child[] = [];
let peers: SharedActors[] = [];
afterEach(async () => {
  // Stopped or not.
  for (const child of children) child.kill("SIGKILL");
  for (const peer of peers) await closeShared(peer);
  children = [];
  peers = [];
});

interface Joined {
  readonly dataDir: string;
  readonly ref: ActorRef;
  /** Messages of the peer's log. */
  readonly logged: string[];
  signal(name: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void;
}

/** A lock owner in another process, and a peer in this one. */
async function joined(): Promise<Joined> {
  const dataDir = mkdtempSync(join(inject("scratch"), "still-"));
  const child = start(host, "sharing-still-child.ts", [host, dataDir]);
  children.push(child);
  await lineWith(child, "holding");
  const logged: string[] = [];
  const log: Log = (level, message) => logged.push(`${level}: ${message}`);
  const peer = await openShared(dataDir, log, { heartbeatMs: HEARTBEAT_MS });
  peers.push(peer);
  peer.define(kind);
  const signal: Joined["signal"] = (name) => {
    if (child.pid !== undefined) process.kill(child.pid, name);
  };
  return { dataDir, ref: peer.get("still", "one"), logged, signal };
}

const unavailable = (message: string): object => ({
  status: 503,
  message,
  options: { headers: { "retry-after": "1" } },
});
const UNANSWERED = unavailable(
  "The process that holds the data directory does not answer: whether this took effect is not known",
);
const STILL = unavailable(
  "The process that holds the data directory does not answer: try again later",
);

/** A body whose second half comes when it is let. */
function halves(): { body: ReadableStream<Uint8Array>; isRead(): boolean; letRest(): void } {
  const rest = Promise.withResolvers<void>();
  const encoder = new TextEncoder();
  const texts = ["first ", "second"];
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (texts.length === 1) await rest.promise;
        const text = texts.shift();
        if (text === undefined) controller.close();
        else controller.enqueue(encoder.encode(text));
      },
    },
    { highWaterMark: 0 },
  );
  return { body, isRead: () => texts.length === 1, letRest: rest.resolve };
}

describe("an owner that is unresponsive", () => {
  it("is not waited for for ever, keeps the folder, and is called again once it answers", async () => {
    const { dataDir, logged, ref, signal } = await joined();
    expect(await ref.call("echo", "before")).toBe("before");
    const stream = await ref.fetch(new Request("http://local/talk"));
    const reader = stream.body!.getReader();
    await reader.read();
    const upload = halves();
    // Its type does not know that a stream takes it.
    const half = { duplex: "half" };
    const posted = ref.fetch(
      new Request("http://local/", { method: "POST", body: upload.body, ...half }),
    );
    await eventually(upload.isRead, "the owner takes the upload");
    const pending = ref.call("later", 100_000);
    logged.length = 0;
    signal("SIGSTOP");
    await Promise.all([
      expect(pending).rejects.toMatchObject(UNANSWERED),
      expect(posted).rejects.toMatchObject(UNANSWERED),
    ]);
    upload.letRest();
    for (let n = 0; n < 3; n++) await expect(ref.call("echo", "x")).rejects.toMatchObject(STILL);
    await expect(ref.fetch(new Request("http://local/"))).rejects.toMatchObject(STILL);
    const other = openDataDir(dataDir);
    expect(other.hold()).toBe(false);
    other.release();
    signal("SIGCONT");
    const after = (): Promise<boolean> =>
      ref.call("echo", "after").then(
        (text) => text === "after",
        () => false,
      );
    await eventually(after, "the owner is called again");
    // What had begun goes on.
    for (let n = 0; n < 20; n++) expect((await reader.read()).done).toBe(false);
    await reader.cancel();
    const uploads = async (): Promise<boolean> =>
      ((await ref.call("uploads")) as string[]).length > 0;
    await eventually(uploads, "the upload has ended");
    expect(await ref.call("uploads")).toEqual(["broken"]);
    expect(logged.slice(0, 2)).toEqual([
      "warn: The process that holds the data directory does not answer",
      "info: The process that holds the data directory answers again",
    ]);
  });

  it("is succeeded when it is killed", async () => {
    const { logged, ref, signal } = await joined();
    signal("SIGSTOP");
    await expect(ref.call("echo", "x")).rejects.toMatchObject(UNANSWERED);
    signal("SIGKILL");
    const isOwn = (): Promise<boolean> =>
      ref.call("echo", "x").then(
        () => false,
        (error: Error) => error.message.includes("has no method"),
      );
    await eventually(isOwn, "this process answers");
    expect(logged.at(-1)).toBe("info: Took over the data directory");
  });
});

describe("a process that cannot join the holder", () => {
  it("says what it waits for, and takes over when the owner has ended", async () => {
    const path = mkdtempSync(join(inject("scratch"), "waiting-"));
    const owner = await openShared(path, () => undefined, { speaks: "another language" });
    owner.define(kind);
    const logged: unknown[] = [];
    const told = Promise.withResolvers<void>();
    const second = openShared(path, (level, message, fields) => {
      logged.push([level, message, fields]);
      told.resolve();
    });
    await told.promise;
    expect(logged).toEqual([
      [
        "info",
        `Waiting for the process that holds the data directory, which is of another runtime or version (another language; this is ${speaks})`,
        { path },
      ],
    ]);
    await closeShared(owner);
    peers.push(await second);
    expect(logged.slice(1)).toEqual([["info", "Took over the data directory", undefined]]);
  });

  it("ends in one line that tells why", async () => {
    const path = mkdtempSync(join(inject("scratch"), "waiting-"));
    const owner = await openShared(path, () => undefined, { speaks: "another language" });
    peers.push(owner);
    owner.define(kind);
    const late = openShared(path, () => undefined, { predecessorMs: 200 });
    await expect(late).rejects.toThrow(
      `The data directory "${path}" is in use by another process, which is of another runtime or version (another language; this is ${speaks}): stop that, or choose another with --data-dir`,
    );
  });
});

describe("heartbeat()", () => {
  /** A side that is always waited for; `answer` is called for each question. */
  const watched = (answer: (heard: () => void) => void): { asked(): number; heart: Heartbeat } => {
    let asked = 0;
    const heart: Heartbeat = heartbeat({
      heartbeatMs: 5,
      isBusy: () => true,
      ping() {
        asked += 1;
        answer(() => {
          heart.received();
        });
      },
      onUnresponsive: () => undefined,
      onRecovered: () => undefined,
    });
    return { asked: () => asked, heart };
  };

  it("waits for what takes long as long as the other side answers", async () => {
    const { asked, heart } = watched((heard) => setImmediate(heard));
    await eventually(() => asked() > 30, "it has asked 30 times");
    expect(heart.isUnresponsive()).toBe(false);
    heart.stop();
  });

  it("blames nobody for the time in which this process stood still itself", async () => {
    const { asked, heart } = watched(() => {
      const until = performance.now() + 200;
      while (performance.now() < until);
    });
    await eventually(() => asked() === 1, "it has asked");
    // Whatever has come meanwhile is read before the next beat but one.
    expect(heart.isUnresponsive()).toBe(false);
    heart.stop();
  });

  it("asks once, and tells of silence once", async () => {
    const { asked, heart } = watched(() => undefined);
    await eventually(() => heart.isUnresponsive(), "it stands still");
    expect(asked()).toBe(1);
    heart.stop();
  });
});
