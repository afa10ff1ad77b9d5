/** A passage, as far as the search box shows it. */
export interface Passage {
  readonly id: string;
  readonly text: string;
  readonly heading?: string;
  readonly item: {
    readonly key: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly matches_position?: {
    readonly text?: readonly { readonly start: number; readonly length: number }[];
  };
}

/** The endpoint refused a request; the status says why. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`The search endpoint answered ${status}`);
    this.status = status;
  }
}

/** A part of a streamed answer. */
export type AnswerPart = { readonly sources: readonly Passage[] } | { readonly text: string };

/** Asks the public endpoint of an instance. */
export class Endpoint {
  readonly base: URL;
  constructor(base: string) {
    this.base = new URL(base.endsWith("/") ? base : `${base}/`, document.baseURI);
  }

  /** Finds the passages for what was typed so far. */
  async search(query: string, limit: number, signal: AbortSignal): Promise<readonly Passage[]> {
    const retrieval = { max_num_results: limit, prefix: true, show_matches_position: true };
    const body = { query, ai_search_options: { retrieval } };
    const response = await this.#post("search", body, signal);
    const { result } = (await response.json()) as { result: { chunks: readonly Passage[] } };
    return result.chunks;
  }

  /** Counts what somebody has typed as a question, for the report of what was asked. */
  async settle(query: string, signal: AbortSignal): Promise<void> {
    const retrieval = { max_num_results: 1, metadata_only: true };
    await this.#post("search", { query, ai_search_options: { retrieval } }, signal);
  }

  /** Tells that a result was chosen; goes on while the page is left. */
  clicked(query: string): void {
    this.#post("clicks", { query }, null).catch(() => undefined);
  }

  /** Yields the sources of an answer and its text as it is written. */
  async *answer(query: string, signal: AbortSignal): AsyncGenerator<AnswerPart> {
    const body = { messages: [{ role: "user", content: query }], stream: true };
    const response = await this.#post("chat/completions", body, signal);
    if (response.body === null) return;
    for await (const { event, data } of events(response.body)) {
      if (data === "[DONE]") return;
      if (event === "error") throw new Refused(500);
      const part = JSON.parse(data) as unknown;
      if (event === "chunks") yield { sources: part as readonly Passage[] };
      else yield { text: textOf(part) };
    }
  }

  async #post(path: string, body: unknown, signal: AbortSignal | null): Promise<Response> {
    const response = await fetch(new URL(path, this.base), {
      method: "POST",
      // Nothing of the page's user goes along.
      credentials: "omit",
      referrerPolicy: "no-referrer",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      keepalive: signal === null,
      signal,
    });
    if (response.ok) return response;
    throw new Refused(response.status);
  }
}

function textOf(part: unknown): string {
  const { choices } = part as { choices?: { delta?: { content?: string | null } }[] };
  return choices?.[0]?.delta?.content ?? "";
}

/** Yields the server-sent events of a body, whose lines end with LF as this server writes them. */
async function* events(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<{ readonly event: string; readonly data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const lines = block.split("\n");
        const field = (name: string): string[] =>
          lines
            .filter((line) => line.startsWith(`${name}: `))
            .map((line) => line.slice(name.length + 2));
        yield { event: field("event")[0] ?? "", data: field("data").join("\n") };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
