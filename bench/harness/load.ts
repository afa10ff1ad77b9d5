import { type Dispatcher, Pool } from "undici";

/** A request of a load. */
export interface Call {
  readonly path: string;
  /** @default "POST" */
  readonly method?: "GET" | "POST" | "PUT";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer to a call. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** When the first byte of the body came, or the end of an empty one; as `performance.now()` counts. */
  readonly firstByteAt: number;
}

/** How long the requests of a load took, ms, in the order in which they ended. */
export interface Timings {
  /** Until the last byte of the answer. */
  readonly whole: readonly number[];
  /** Until the first byte of its body. */
  readonly firstByte: readonly number[];
}

/** A load on a server. */
export interface Load {
  /** The n-th request; `n` never repeats within a run of the benchmark. */
  readonly call: (n: number) => Call;
  readonly connections: number;
  readonly ms: number;
  /** Requests per second over all connections; without it each connection sends as fast as it is answered. */
  readonly perSecond?: number;
}

let sent = 0;

/** Sends requests over keep-alive connections. A failure ends the benchmark. */
export async function sendLoad(
  url: URL,
  { call, connections, ms, perSecond }: Load,
): Promise<Timings> {
  // undici's dispatcher costs a third of `http.request`: the generator shares the machine with what it measures.
  const pool = new Pool(url.origin, { connections, pipelining: 1 });
  const whole: number[] = [];
  const firstByte: number[] = [];
  const begin = performance.now();
  const end = begin + ms;
  let due = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      if (perSecond !== undefined) {
        const wait = begin + (due++ * 1000) / perSecond - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      }
      const started = performance.now();
      const { firstByteAt } = await dispatch(pool, call(sent++), false);
      whole.push(performance.now() - started);
      firstByte.push(firstByteAt - started);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  await pool.close();
  return { whole, firstByte };
}

/** Sends so many requests, as fast as the connections are answered: to prepare what is measured. */
export async function sendAll(
  url: URL,
  count: number,
  call: Load["call"],
  connections: number = 32,
): Promise<void> {
  const pool = new Pool(url.origin, { connections, pipelining: 1 });
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await dispatch(pool, call(next++), false);
  };
  await Promise.all(Array.from({ length: connections }, worker));
  await pool.close();
}

/** Sends one request and reads its answer; one that is no success is an error with the answer in it. */
export async function sendOne(url: URL, call: Call): Promise<Reply> {
  const pool = new Pool(url.origin, { connections: 1 });
  const reply = await dispatch(pool, call, true);
  await pool.close();
  return reply;
}

function dispatch(pool: Pool, call: Call, keep: boolean): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const text: string[] = [];
    let status = 0;
    let firstByteAt: number | undefined;
    let headers: Reply["headers"] = {};
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart(_controller, code, received) {
        status = code;
        headers = received;
      },
      onResponseData(_controller, chunk) {
        firstByteAt ??= performance.now();
        if (keep || status >= 300) text.push(chunk.toString());
      },
      onResponseEnd() {
        firstByteAt ??= performance.now();
        if (status < 300) resolve({ status, headers, text: text.join(""), firstByteAt });
        else reject(new Error(`${call.path} answered ${status}: ${text.join("").slice(0, 500)}`));
      },
      onResponseError(_controller, error) {
        reject(error);
      },
    };
    const { path, method = "POST", headers: own, body } = call;
    pool.dispatch(
      { path, method, headers: { "content-type": "application/json", ...own }, body },
      handler,
    );
  });
}
