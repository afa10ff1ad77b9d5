import { clamp } from "../../../core/http/fields/bounded-number.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type {
  Actor,
  ActorContext,
  ActorKind,
  Actors,
  Connection,
  Plain,
  System,
  SharedSchema,
} from "../../../core/ports.ts";
import { mailbox, type Mailbox } from "../../shared/actors/mailbox.ts";
import { objectClock } from "./object-clock.ts";
import { objectSockets, type ObjectSockets } from "./object-sockets.ts";
import { storageSql } from "./storage-sql.ts";
import type { ObjectWrites } from "./write-state.ts";
import { stepSql } from "../../../core/sql/schema-step.ts";
import {
  LATER_COLUMNS,
  SCHEMA_COLUMNS,
  schemasOf,
  SEEN_STEPS,
  STORE_STEPS,
  storedSteps,
  unseenSteps,
} from "../../shared/sql/schema-lists.ts";

/** Calls that may wait for one actor. */
const MAILBOX_LIMIT = 10_000;

/** workerd takes no alarm after 2189. One for a later time goes off then, and its actor sets it again. */
const LAST_ALARM = Date.UTC(2189, 0, 1);

/** Bytes of all WebSocket messages that wait for one actor. */
const MAX_WAITING = 16 * 1024 * 1024;

/** An actor in its Durable Object. */
export interface HostedActor {
  call(method: string, args: readonly Plain[]): Promise<Plain>;
  fetch(request: Request): Promise<Response>;
  onAlarm(): Promise<void>;
  onMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void>;
  onClose(socket: WebSocket, code: number, reason: string): Promise<void>;
}

/** The parts that hosting an actor needs. */
export interface HostingOptions {
  readonly ctx: DurableObjectState;
  readonly kind: ActorKind;
  readonly name: string;
  readonly system: System;
  readonly actors: Actors;
  readonly writes: ObjectWrites;
  /** See `ObjectSocketLimits`. */
  readonly lookMs: number | undefined;
}

/** Prepares the object's tables and starts the actor on its first use; a failed start is tried again. */
export function hostActor(options: HostingOptions): HostedActor {
  const { ctx, kind, lookMs, system } = options;
  const sockets = objectSockets(ctx, system, { lookMs });
  const box = mailbox(MAILBOX_LIMIT);
  const context = actorContext(options, sockets);
  let starting: Promise<Actor> | undefined;
  let waitingBytes = 0;

  async function start(): Promise<Actor> {
    migrateObject(ctx.storage, kind);
    return kind.start(context);
  }
  function actor(): Promise<Actor> {
    starting ??= start().catch((error: unknown) => {
      starting = undefined;
      throw error;
    });
    return starting;
  }
  return {
    call: (method, args) => callMethod({ kind, box, actor }, method, args),
    async fetch(request) {
      const instance = await actor();
      if (instance.fetch === undefined) throw new ApiError("no_route");
      return instance.fetch(request);
    },
    onAlarm: () => box.run(async () => (await actor()).onAlarm?.()),
    async onMessage(socket, message) {
      const size = typeof message === "string" ? message.length : message.byteLength;
      if (!takeIn(socket, size, sockets.maxMessage(socket), waitingBytes)) return;
      sockets.heard(socket);
      waitingBytes += size;
      const data = typeof message === "string" ? message : new Uint8Array(message);
      try {
        await (await actor()).onMessage?.(sockets.connectionOf(socket), data);
      } finally {
        waitingBytes -= size;
      }
    },
    async onClose(socket, code, reason) {
      if (sockets.isEnded(socket)) return;
      const connection: Connection = sockets.connectionOf(socket);
      await (await actor()).onClose?.(connection, code, reason);
    },
  };
}

/** Whether a message may wait for the actor; closes the connection that sends too much. */
function takeIn(socket: WebSocket, size: number, limit: number, waitingBytes: number): boolean {
  if (size > limit) {
    socket.close(1009, `Messages are limited to ${limit} bytes`);
    return false;
  }
  if (waitingBytes + size <= MAX_WAITING) return true;
  socket.close(1013, "Too many messages wait to be handled");
  return false;
}

interface Callee {
  readonly kind: ActorKind;
  readonly box: Mailbox;
  readonly actor: () => Promise<Actor>;
}

function callMethod(callee: Callee, method: string, args: readonly Plain[]): Promise<Plain> {
  const run = async (): Promise<Plain> => {
    const { methods } = await callee.actor();
    const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (found === undefined) {
      throw new ApiError("internal", {
        message: `Actor kind "${callee.kind.name}" has no method "${method.slice(0, 64)}"`,
      });
    }
    // The caller and the kind agree on the arguments; the boundary between them is untyped by design.
    return (await (found as (...values: readonly Plain[]) => unknown)(...args)) as Plain;
  };
  return callee.kind.interleaved?.includes(method) === true ? run() : callee.box.run(run);
}

function actorContext(
  { actors, ctx, name, system, writes }: HostingOptions,
  sockets: ObjectSockets,
): ActorContext {
  const sql = storageSql(ctx.storage, writes);
  const clock = objectClock(ctx.storage.kv, () => system.now());
  return {
    name,
    sql,
    sockets,
    actors,
    steady: () => clock.now(),
    async alarm(at, together = []) {
      const results = sql.batchNow(together);
      // No await in between: workerd commits all writes of one turn together (write coalescing).
      await (at === null
        ? ctx.storage.deleteAlarm()
        : ctx.storage.setAlarm(clamp(Math.ceil(clock.toWall(at)), 1, LAST_ALARM)));
      return results;
    },
    system: {
      ...system,
      waitUntil: (work) => {
        ctx.waitUntil(work);
      },
    },
  };
}

/** Applies those schema steps of a kind that this object's database has not seen, in one transaction. */
function migrateObject(storage: DurableObjectStorage, kind: ActorKind): void {
  storage.transactionSync(() => {
    storage.sql.exec(`CREATE TABLE IF NOT EXISTS causey_schema (${SCHEMA_COLUMNS})`);
    const columns = storage.sql.exec("PRAGMA table_info('causey_schema')").toArray();
    if (!columns.some(({ name }) => name === "needs"))
      for (const column of LATER_COLUMNS)
        storage.sql.exec(`ALTER TABLE causey_schema ADD COLUMN ${column}`);
    for (const list of schemasOf(kind)) apply(storage.sql, list);
  });
}

function apply(sql: SqlStorage, list: SharedSchema): void {
  const [row] = sql.exec(SEEN_STEPS, list.name).toArray();
  const unseen = unseenSteps(list, row);
  if (unseen.length === 0) return;
  for (const step of unseen) sql.exec(stepSql(step));
  sql.exec(STORE_STEPS, ...storedSteps(list));
}
