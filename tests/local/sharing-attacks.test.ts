import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { openPlatform } from "#platform";
import { secretOf } from "../../adapters/cli/serve/secrets.ts";
import { encodePlain } from "../../adapters/peers/plain-codec.ts";
import { makeAddress, readAddress } from "../../adapters/processes/address.ts";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { speaks } from "./open-shared.ts";

const heard: string[] = [];
const listener: ActorKind = {
  name: "listener",
  schema: [],
  start: () => ({
    methods: {
      hear: (text: string) => heard.push(text),
      echo: (text: string) => text,
    },
  }),
};

let open: Platform[] = [];
afterEach(async () => {
  for (const platform of open) await platform.close();
  open = [];
});

async function start(data: string): Promise<Platform> {
  const platform = await openPlatform({ data });
  platform.actors.define(listener);
  open.push(platform);
  return platform;
}

/** Where `openPlatform` puts the data of that name. */
const folderOf = (data: string): string => join(inject("scratch"), data);

/** A request of the protocol between processes, in the name of that version. */
function asked(method: string, path: string, version: string, rest = ""): Buffer {
  const headers = `host: local\r\nx-causey-speaks: ${encodeURIComponent(version)}\r\n${rest}`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${headers}\r\n`);
}

/** Says this to a socket; resolves when the other side has closed. */
function say(path: string, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(bytes));
    socket.on("error", () => undefined);
    socket.resume();
    socket.once("close", () => {
      resolve();
    });
  });
}

describe("the socket of a holder", () => {
  it("closes on what does not speak its language, and serves the others on", async () => {
    const data = `attacked-${crypto.randomUUID()}`;
    await start(data);
    const peer = await start(data);
    const path = readAddress(folderOf(data));
    expect(path).not.toBeNull();
    const upgrade = "connection: upgrade\r\nupgrade: causey-calls\r\n";
    const calls = asked("GET", "/calls", speaks, upgrade);
    const early = encodePlain({ type: "call", id: 1, kind: "listener", name: "a", method: "echo" });
    const upload = "transfer-encoding: chunked\r\n";
    for (const bytes of [
      Buffer.alloc(8, 0xff),
      Buffer.from("\t\0\0\0garbage!!"),
      asked("GET", "/calls", "another runtime", upgrade),
      asked("POST", "/actors/listener/a", "another runtime", upload),
      asked("POST", "/elsewhere", speaks, "connection: close\r\n"),
      Buffer.concat([calls, Buffer.alloc(8, 0xff)]),
      Buffer.concat([calls, Buffer.from("\t\0\0\0garbage!!")]),
      Buffer.concat([
        asked("POST", "/actors/listener/a", speaks, upload),
        Buffer.from("2\r\n\0\0\r\n0\r\n\r\n"),
      ]),
    ])
      await say(path!, bytes);
    // Half a message, and then nothing: nobody waits for its rest.
    const half = connect(path!, () => half.write(Buffer.concat([calls, early.subarray(0, 20)])));
    half.on("error", () => undefined);
    expect(await peer.actors.get("listener", "a").call("echo", "still here")).toBe("still here");
    half.destroy();
  });
});

describe("a process of another runtime", () => {
  it("is told why it cannot join in a form that it can read", async () => {
    const data = `strange-${crypto.randomUUID()}`;
    await start(data);
    await start(data);
    const chunks: Buffer[] = [];
    await new Promise((resolve) => {
      const upgrade = "connection: upgrade\r\nupgrade: causey-calls\r\n";
      const socket = connect(readAddress(folderOf(data))!, () =>
        socket.write(asked("GET", "/calls", "another runtime", upgrade)),
      );
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.once("close", resolve);
    });
    const answer = String(Buffer.concat(chunks));
    expect(answer).toMatch(/^HTTP\/1\.1 409 /u);
    expect(answer).toMatch(new RegExp(`\\r\\n\\r\\n${speaks}$`, "u"));
  });
});

describe("the file that names the socket of a holder", () => {
  const folder = (): string => mkdtempSync(join(inject("scratch"), "pointer-"));

  it("is believed only where it names a socket of ours, and what else it names stays", () => {
    const dir = folder();
    const precious = join(dir, "holder-abcdef", "socket");
    mkdirSync(dirname(precious));
    writeFileSync(precious, "precious");
    for (const text of ["", "8080", ".", dir, precious, "/\0", "relative/holder-abcdef/socket"]) {
      writeFileSync(join(dir, "holder"), text, { mode: 0o600 });
      expect([text, readAddress(dir)]).toEqual([text, null]);
      makeAddress(dir).remove();
    }
    expect(readFileSync(precious, "utf8")).toBe("precious");
  });

  it("is none when it is a folder or a link, and a socket of another program is not removed", async () => {
    const dir = folder();
    mkdirSync(join(dir, "holder"));
    expect(readAddress(dir)).toBeNull();
    rmSync(join(dir, "holder"), { recursive: true });
    writeFileSync(join(dir, "elsewhere"), "anything");
    symlinkSync(join(dir, "elsewhere"), join(dir, "holder"));
    expect(readAddress(dir)).toBeNull();
    rmSync(join(dir, "holder"));
    const theirs = join(dir, "agent.sock");
    const server = createServer().listen(theirs);
    await new Promise((resolve) => server.once("listening", resolve));
    writeFileSync(join(dir, "holder"), theirs, { mode: 0o600 });
    makeAddress(dir).remove();
    expect(existsSync(theirs)).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("calls at a guest", () => {
  it("keep their order when the owner changes meanwhile", async () => {
    const data = `ordered-${crypto.randomUUID()}`;
    const owner = await start(data);
    const peer = await start(data);
    heard.length = 0;
    const ref = peer.actors.get("listener", "order");
    const calls: Promise<unknown>[] = [];
    let closing: Promise<void> | undefined;
    for (let n = 0; n < 600; n++) {
      calls.push(ref.call("hear", String(n)));
      if (n === 200) closing = owner.close();
      if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(calls);
    await closing;
    expect(heard).toEqual(Array.from({ length: 600 }, (_, n) => String(n)));
  });
});

describe("a peer that cannot take over", () => {
  it("gives the directory up, and calls the one that can", async () => {
    const data = `unable-${crypto.randomUUID()}`;
    const owner = await start(data);
    const peer = await start(data);
    const broken: ActorKind = { ...listener, name: "broken", schema: ["this is no SQL"] };
    peer.actors.define(broken);
    await owner.close();
    const called = peer.actors.get("listener", "a").call("echo", "moved");
    const able = await start(data);
    expect(await called).toBe("moved");
    expect(await able.actors.get("listener", "a").call("echo", "held")).toBe("held");
  });
});

describe("secretOf()", () => {
  it("stores nothing for a platform in memory", () => {
    const made = secretOf(undefined, ":memory:", "token", () => "made");
    expect(made).toEqual({ value: "made", path: null, created: true });
    expect(existsSync(":memory:")).toBe(false);
  });

  it("takes what another process has stored meanwhile", () => {
    const dir = mkdtempSync(join(inject("scratch"), "secret-"));
    // The other one is faster: it has stored its own by the time that ours is made.
    const first = { value: "" };
    const second = secretOf(undefined, dir, "token", () => {
      first.value = secretOf(undefined, dir, "token", () => "the first").value;
      return "the second";
    });
    expect([first.value, second.value, second.created]).toEqual(["the first", "the first", false]);
    expect(readdirSync(dir)).toEqual(["token"]);
  });
});
