import { connect } from "node:net";
import { describe, expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { isCluster } from "./target.ts";

const { hostname, port } = new URL(inject("baseUrl"));
const MEBI = 1024 * 1024;

/** What a client reads that writes a body to its end first, and the errors that it sees. */
async function answerAfter(framing: "length" | "chunks", mebibytes: number): Promise<string[]> {
  const socket = connect(Number(port), hostname).pause();
  const errors: string[] = [];
  let answer = "";
  socket.on("error", ({ message }) => errors.push(message));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const write = (bytes: string | Uint8Array): Promise<unknown> =>
    Promise.race([closed, new Promise((resolve) => socket.write(bytes, resolve))]);
  const path = `/client/v4/accounts/${inject("accountId")}/ai-gateway/gateways`;
  const length =
    framing === "chunks" ? "transfer-encoding: chunked" : `content-length: ${mebibytes * MEBI}`;
  await write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${inject("token")}\r\ncontent-type: application/json\r\n${length}\r\n\r\n`,
  );
  const piece = new Uint8Array(MEBI).fill(120);
  for (let n = 0; n < mebibytes && !socket.destroyed; n++) {
    if (framing === "chunks") await write(`${MEBI.toString(16)}\r\n`);
    await write(piece);
    if (framing === "chunks") await write("\r\n");
  }
  if (framing === "chunks") await write("0\r\n\r\n");
  socket.on("data", (bytes) => (answer += bytes.toString("latin1")));
  socket.resume();
  await closed;
  return [...errors, answer.slice(0, 12)];
}

/** Why a runtime is left out. */
const lacks: Readonly<Record<string, string>> = {
  deno: "Deno sends the answer and closes by itself, or keeps the connection",
  bun: "Bun resets the connection: its server is not ours to close",
  workers: "workerd resets the connection: its server is not ours to close",
};

/** In a cluster a connection leads to any of the three. */
const why = isCluster() ? lacks["deno"] : lacks[inject("target")];

describe("an answer that comes before the end of its request's body", () => {
  for (const framing of ["length", "chunks"] as const)
    itUnless(why)(
      `reaches a client that writes 50 MB before it reads, framed by ${framing}`,
      async () => {
        expect(await answerAfter(framing, 50)).toEqual(["HTTP/1.1 413"]);
      },
      60_000,
    );
});
