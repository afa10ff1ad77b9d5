import { setTimeout as startTimer } from "node:timers";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Log, Wire } from "../../../core/ports.ts";
import { muxConnections, type Mux } from "./chromium-mux.ts";
import type { ChromiumProcess } from "./chromium-process.ts";

/** Options of {@link superviseChromium}. */
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
  /** Whether it has answered at all: the first answer takes the whole start. */
  hasAnswered: boolean;
  /** A retired browser takes no new connection and ends with its last one. */
  retired: boolean;
  idle: ReturnType<typeof startTimer> | null;
  /** Why its process ended; null while it runs. */
  ended: string | null;
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
      const first = await attach(state);
      // One that never answered cannot start: the next would not either.
      const answer =
        first instanceof Error && !(first instanceof Unstartable) ? await attach(state) : first;
      if (!(answer instanceof Error)) return answer;
      const { message } = answer;
      const headers = { "retry-after": "1" };
      throw new ApiError("no_browser", { message, cause: answer, headers });
    },
    async close() {
      state.closed = true;
      await state.current?.catch(() => undefined);
      await Promise.all([...state.instances].map((instance) => end(state, instance)));
    },
  };
}

/** How long a browser may take to answer its first call and every later one, and to show that it lives, in ms. */
const FIRST_ANSWER_MS = 30_000;
const ANSWER_MS = 10_000;
const PROBE_MS = 2_000;

/** Opens a connection, or gives the reason why the browser did not: it died meanwhile, or hangs and is ended. */
async function attach(state: State): Promise<Wire | Error> {
  const instance = await acquire(state).catch((error: unknown) => {
    if (error instanceof Unstartable) return error;
    throw error;
  });
  if (instance instanceof Unstartable) return instance;
  try {
    const wire = await answered(instance.mux, instance.hasAnswered ? ANSWER_MS : FIRST_ANSWER_MS);
    instance.hasAnswered = true;
    wire.onClose(() => release(state, instance));
    return { ...wire, kill: () => replace(state, instance, wire) };
  } catch (error) {
    instance.retired = true;
    release(state, instance);
    if (error instanceof SilentBrowser) await end(state, instance);
    const { message } = error instanceof Error ? error : new Error("The browser did not start");
    return instance.hasAnswered ? new Error(message) : new Unstartable(message);
  }
}

/** The browser ended before it had answered at all. */
class Unstartable extends Error {}

class SilentBrowser extends Error {}

/** Returns a connection to a browser that answers in time; one that comes later is closed at once. */
async function answered(mux: Mux, ms: number): Promise<Wire> {
  const connecting = mux.connect();
  const late = Promise.withResolvers<never>();
  const timer = startTimer(() => late.reject(new SilentBrowser("The browser hangs")), ms);
  try {
    return await Promise.race([connecting, late.promise]);
  } catch (error) {
    connecting.then(
      (wire) => wire.close(),
      () => undefined,
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Takes a browser out of use: one that still answers may finish what it does for others, one that hangs is killed. */
function replace(state: State, instance: Instance, wire: Wire): void {
  instance.retired = true;
  answered(instance.mux, PROBE_MS).then(
    (probe) => {
      probe.close();
      wire.close();
    },
    () => void end(state, instance),
  );
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
      // Starting it again and again would only keep the machine busy.
      if (instance.ended !== null && !instance.hasAnswered) throw new Unstartable(instance.ended);
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
  const instance: Instance = {
    process,
    mux,
    jobs: 0,
    users: 0,
    hasAnswered: false,
    retired: false,
    idle: null,
    ended: null,
  };
  state.instances.add(instance);
  process.onExit((reason) => {
    instance.ended = reason;
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
