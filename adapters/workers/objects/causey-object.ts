import { DurableObject } from "cloudflare:workers";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Plain } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { doubledPause } from "../../../core/work/backoff.ts";
import {
  errorAsResponse,
  settledCall,
  withoutErrorHeader,
  type CallOutcome,
} from "../../shared/actors/call-outcome.ts";
import { hostActor, type HostedActor } from "./hosted-actor.ts";
import { parseObjectName } from "./object-name.ts";
import { objectActors } from "./object-actors.ts";
import { refusedWrite } from "./storage-sql.ts";
import { objectWrites } from "./write-state.ts";
import { findKind, socketHolders, type ObjectSpace } from "./registry.ts";
import type { WorkerEnv } from "../env/worker-env.ts";
import { consoleLog, workerSystem } from "../env/worker-system.ts";

/** Keys of the object's own settings, beside the actor's tables. */
const NAME_KEY = "causey:name";
const ALARM_FAILURES_KEY = "causey:alarm-failures";

/** Longest pause between two runs of an alarm that keeps failing, in ms. */
const LONGEST_BACKOFF_MS = 60_000;

/**
 * The one Durable Object class: hosts every kind of actor, found by the object's name. Export it from the
 * Worker's main module and name it in `new_sqlite_classes`.
 *
 * @example
 * ```ts
 * import { fromEnv, worker } from "causey/workers";
 * export { CauseyObject } from "causey/workers";
 *
 * export default worker(fromEnv);
 * ```
 */
export class CauseyObject extends DurableObject<WorkerEnv> {
  #name: string | undefined;
  #hosted: HostedActor | undefined;
  #space: Omit<ObjectSpace, "kinds"> = {
    log: consoleLog,
    alarmBackoffMs: 1000,
    lookMs: undefined,
    asyncLocal: undefined,
    writes: objectWrites(consoleLog),
  };

  /** Calls a method of the actor over RPC; for the adapter itself. */
  invoke(name: string, method: string, args: readonly Plain[]): Promise<CallOutcome> {
    const call = async (): Promise<Plain> => {
      try {
        return await this.#host(name).call(method, args);
      } catch (error) {
        throw refusedWrite(error, this.#space.writes);
      }
    };
    return settledCall(
      call,
      (...entry) => {
        this.#space.log(...entry);
      },
      `${name}.${method}`,
    );
  }

  /** Tells an object a name too long for the platform to hand back. */
  identify(name: string): void {
    this.#name = name;
    if (this.ctx.storage.kv.get(NAME_KEY) === undefined) this.ctx.storage.kv.put(NAME_KEY, name);
  }

  /** Closes every connection of the object. */
  closeSockets(code: number, reason: string): void {
    for (const socket of this.ctx.getWebSockets()) socket.close(code, reason);
  }

  async fetch(request: Request): Promise<Response> {
    try {
      const response = await this.#host().fetch(request);
      if (response.webSocket !== null && this.#name !== undefined) socketHolders.add(this.#name);
      return withoutErrorHeader(response);
    } catch (error) {
      const { log, writes } = this.#space;
      return errorAsResponse(refusedWrite(error, writes), log, `${this.#name}.fetch`);
    }
  }

  /** Runs the actor's alarm. A failure sets the next run itself: the platform's own retries end after six. */
  async alarm(): Promise<void> {
    const { kv } = this.ctx.storage;
    try {
      await this.#host().onAlarm();
      if (kv.get(ALARM_FAILURES_KEY) !== undefined) kv.delete(ALARM_FAILURES_KEY);
    } catch (error) {
      const failures = Number(kv.get(ALARM_FAILURES_KEY) ?? 0) + 1;
      const { log, writes } = this.#space;
      const thrown = refusedWrite(error, writes);
      // A database that takes no writes is reported once, not by each alarm.
      if (!(thrown instanceof SqlError && thrown.isReported))
        log("error", "Alarm failed", { actor: this.#name, failures, error: String(error) });
      kv.put(ALARM_FAILURES_KEY, failures);
      if ((await this.ctx.storage.getAlarm()) !== null) return;
      const pause = { baseMs: this.#space.alarmBackoffMs, maxMs: LONGEST_BACKOFF_MS };
      const delay = doubledPause(pause, failures - 1);
      await this.ctx.storage.setAlarm(Date.now() + delay);
    }
  }

  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.#handle("onMessage", (hosted) => hosted.onMessage(socket, message));
  }

  async webSocketClose(socket: WebSocket, code: number, reason: string): Promise<void> {
    try {
      // 1005 and 1006 mean "no code" and "no close frame": they cannot be sent back.
      socket.close(code === 1005 || code === 1006 ? 1000 : code, reason);
    } catch {
      // The platform has answered the close already.
    }
    await this.#closed(socket, code, reason);
  }

  async webSocketError(socket: WebSocket): Promise<void> {
    await this.#closed(socket, 1006, "");
  }

  async #closed(socket: WebSocket, code: number, reason: string): Promise<void> {
    await this.#handle("onClose", (hosted) => hosted.onClose(socket, code, reason));
    const others = this.ctx.getWebSockets().some((one) => one !== socket);
    if (!others && this.#name !== undefined) socketHolders.delete(this.#name);
  }

  async #handle(what: string, work: (hosted: HostedActor) => Promise<void>): Promise<void> {
    try {
      await work(this.#host());
    } catch (error) {
      this.#space.log("error", "Actor failed", {
        what: `${this.#name}.${what}`,
        error: String(error),
      });
    }
  }

  #storedName(): string | undefined {
    const name = this.ctx.storage.kv.get(NAME_KEY);
    return typeof name === "string" ? name : undefined;
  }

  #host(given?: string): HostedActor {
    this.#name ??= this.ctx.id.name ?? this.#storedName();
    if (this.#name === undefined && given !== undefined) this.identify(given);
    if (this.#name === undefined)
      throw new ApiError("internal", { message: "The Durable Object has no name" });
    if (this.#hosted === undefined) {
      const address = parseObjectName(this.#name);
      const { space, kind } = findKind(address.prefix, address.kind, this.env);
      this.#space = space;
      this.#hosted = hostActor({
        ctx: this.ctx,
        kind,
        name: address.name,
        system: { ...workerSystem(space.log), asyncLocal: space.asyncLocal },
        actors: objectActors(this.env.CAUSEY, address.prefix, space.writes),
        writes: space.writes,
        lookMs: space.lookMs,
      });
    }
    return this.#hosted;
  }
}
