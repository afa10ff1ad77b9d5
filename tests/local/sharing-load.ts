import { chat, webhook, type SharingServer } from "./sharing-servers.ts";

/** Requests of all kinds to one server, one after the other in several lines. */
export interface Load {
  /** Requests that succeeded so far. */
  done(): number;
  /** Other answers than success, and requests that got none. */
  readonly failures: string[];
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

const LINES = 4;

/** Sends requests until it is stopped. What became of a webhook that was answered is in `acknowledged`, as `AGENT/ENTITY ID`. */
export function startLoad(server: SharingServer, name: string, acknowledged: Set<string>): Load {
  const failures: string[] = [];
  let done = 0;
  const stopped = new AbortController();

  async function once(line: number, n: number): Promise<number> {
    const entity = `entity-${line}`;
    // Sent again, as a sender does, until it is acknowledged: it must not become two.
    if (n % 4 < 2) {
      const [source, agent] =
        n % 4 === 0 ? (["plain", "webhook-agent"] as const) : (["worked", "crash-worker"] as const);
      for (;;) {
        const id = `${name}-${line}-${n}`;
        const status = await webhook(server, source, entity, id);
        if (status === 200 || status === 202) acknowledged.add(`${agent}/${entity} ${id}`);
        if (status !== 503) return status;
        failures.push(`webhook: ${status}`);
        if (stopped.signal.aborted) return 200;
      }
    }
    if (n % 4 === 2) return chat(server, "loaded", { "cf-aig-event-id": `${name}-${line}-${n}` });
    const response = await server.ask(`/agents/box/${entity}/upload`, {
      method: "POST",
      body: "some bytes".repeat(20_000),
    });
    await response.text();
    return response.status;
  }

  async function run(line: number): Promise<void> {
    for (let n = 0; !stopped.signal.aborted; n++) {
      const what = ["plain", "worked", "chat", "upload"][n % 4] ?? "";
      try {
        const status = await once(line, n);
        // All lines together always have requests under way; as fast as they can, they take the CPU of the servers that start.
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (status === 200 || status === 202) done += 1;
        else failures.push(`${what}: ${status}`);
      } catch (error) {
        const cause = error instanceof Error ? error.cause : undefined;
        failures.push(`${what}: ${String(error)} ${String(cause)}`);
        // A server that is gone refuses connections as fast as they are tried.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  const lines = Array.from({ length: LINES }, (_, line) => run(line));
  return {
    done: () => done,
    failures,
    async stop() {
      stopped.abort();
      await Promise.all(lines);
    },
  };
}
