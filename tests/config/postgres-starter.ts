import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { root } from "./shared.ts";

/** Starts PostgreSQL when a test asks for it, once per run. */
export interface PostgresStarter {
  /** Answers with what `tests/platform/postgres-server.ts` prints. */
  readonly address: string;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** Listens for tests that need PostgreSQL. */
export async function postgresStarter(): Promise<PostgresStarter> {
  let stop = (): Promise<void> => Promise.resolve();
  let started: Promise<string> | undefined;

  function start(): Promise<string> {
    const script = `${root}tests/platform/postgres-server.ts`;
    const child = spawn(`${root}node_modules/node/bin/node`, [script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => {
        resolve();
      });
    });
    stop = () => {
      child.stdin.end();
      return ended;
    };
    return new Promise((resolve) => {
      child.stdout.once("data", (line: Uint8Array) => {
        resolve(new TextDecoder().decode(line));
      });
      void ended.then(() => {
        resolve(JSON.stringify({ fails: "PostgreSQL did not start" }));
      });
    });
  }

  const server = createServer((_, response) => {
    started ??= start();
    void started.then((line) => response.end(line));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    address: `http://127.0.0.1:${port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await stop();
    },
  };
}
