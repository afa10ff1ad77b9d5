import { setTimeout as startTimer } from "node:timers";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Log, Wire } from "../../../core/ports.ts";
import { muxConnections, type Mux } from "./chromium-mux.ts";
import type { ChromiumProcess } from "./chromium-process.ts";

/** What {@link superviseChromium} depends on. */
export interface SupervisorOptions {
  readonly launch: () => Promise<ChromiumProcess>;
  /** A browser is replaced after this many connections. */
  readonly recycleAfter: number;
  /** A browser without connections ends after this time in ms. */
  readonly idleMs: number;
  readonly log: Log;
}

/** One browser at a time: started on first use, replaced when it crashed or is worn, ended when idle. */
export interface Supervisor {
  connect(): Promise<Wire>;
  close(): Promise<void>;
}

interface Instance {
  readonly process: ChromiumProcess;
  readonly mux: Mux;
  /** Connections that were opened, and that are open or being opened. */
  jobs: number;
  users: number;
  /** A retired browser takes no new connection and ends with its last one. */
  retired: boolean;
  idle: ReturnType<typeof startTimer> | null;
}

interface State {
  readonly options: SupervisorOptions;
  readonly instances: Set<Instance>;
  current: Promise<Instance> | undefined;
  closed: boolean;
}

/** Keeps a browser running for those who need one. */
export function superviseChromium(options: SupervisorOptions): Supervisor {
  const state: State = { options, instances: new Set(), current: undefined, closed: false };
  return {
    async connect() {
      const instance = await acquire(state);
      try {
        const wire = await instance.mux.connect();
        wire.onClose(() => release(state, instance));
        return wire;
      } catch (error) {
        release(state, instance);
        const message = error instanceof Error ? error.message : "The browser did not start";
        throw new ApiError("no_browser", { message, cause: error });
      }
    },
    async close() {
      state.closed = true;
      await state.current?.catch(() => undefined);
      await Promise.all([...state.instances].map((instance) => end(state, instance)));
    },
  };
}

async function acquire(state: State): Promise<Instance> {
  for (;;) {
    if (state.closed) throw new ApiError("no_browser", { message: "The server is shutting down" });
    const attempt = (state.current ??= launch(state));
    const instance = await attempt.catch((error: unknown) => {
      if (state.current === attempt) state.current = undefined;
      throw error;
    });
    if (instance.retired) {
      if (state.current === attempt) state.current = undefined;
      continue;
    }
    if (instance.idle !== null) clearTimeout(instance.idle);
    instance.idle = null;
    instance.users += 1;
    instance.jobs += 1;
    instance.retired = instance.jobs >= state.options.recycleAfter;
    return instance;
  }
}

async function launch(state: State): Promise<Instance> {
  const process = await state.options.launch();
  const mux = muxConnections(process);
  const instance: Instance = { process, mux, jobs: 0, users: 0, retired: false, idle: null };
  state.instances.add(instance);
  process.onExit((reason) => {
    if (!state.closed && state.instances.has(instance))
      state.options.log("warn", "Chromium ended", { reason });
    void end(state, instance);
  });
  return instance;
}

function release(state: State, instance: Instance): void {
  instance.users -= 1;
  if (instance.users > 0) return;
  if (instance.retired) return void end(state, instance);
  instance.idle = startTimer(() => void end(state, instance), state.options.idleMs);
  // An idle browser must not keep a finished process alive.
  instance.idle.unref();
}

async function end(state: State, instance: Instance): Promise<void> {
  instance.retired = true;
  state.instances.delete(instance);
  if (instance.idle !== null) clearTimeout(instance.idle);
  await instance.process.kill();
}
