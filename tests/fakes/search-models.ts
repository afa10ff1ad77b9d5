import type { ChatModel, Embedder } from "../../core/ports.ts";

/** An embedder whose vectors say which of a few words a text holds; can be told to fail. */
export interface FakeEmbedder extends Embedder {
  /** What `embed` does next. @default "work" */
  mode: "work" | "fail" | "short" | "nan" | "hang";
  readonly calls: { readonly purpose: string; readonly count: number }[];
  /** Lets calls that hang go on. */
  release(): void;
}

const VOCABULARY = ["cat", "dog", "car", "tree", "house", "river", "music", "bread"];

/** Makes a fake embedder of eight dimensions. */
export function fakeEmbedder(model: string = "fake-embedding"): FakeEmbedder {
  // Looked at by whoever waits: on Workers no promise of one Durable Object may be settled in another's.
  let released = 0;
  return {
    model,
    dimensions: VOCABULARY.length,
    mode: "work",
    calls: [],
    release() {
      released += 1;
    },
    async embed(texts, purpose, signal) {
      this.calls.push({ purpose, count: texts.length });
      const before = released;
      const hangs = this.mode === "hang";
      const isHeld = (): boolean => hangs && before === released && signal?.aborted !== true;
      while (isHeld()) await new Promise((resolve) => setTimeout(resolve, 2));
      if (this.mode === "fail") throw new Error("embedder is down");
      return texts.map((text) => {
        const vector = Float32Array.from(
          VOCABULARY,
          (word) => text.toLowerCase().split(word).length - 1,
        );
        if (this.mode === "nan") vector.fill(Number.NaN);
        return this.mode === "short" ? vector.slice(1) : vector;
      });
    },
  };
}

/** What a fake chat model was asked. */
export interface ModelCall {
  readonly body: {
    readonly model: string;
    readonly stream: boolean;
    readonly messages: { role: string; content: string }[];
  };
  readonly signal: AbortSignal;
}

/** A chat model that answers with the given pieces, as JSON or as a stream; `hold` runs before each piece. */
export function fakeChatModel(
  pieces: readonly string[],
  options: {
    readonly hold?: (piece: number, signal: AbortSignal) => Promise<void>;
    readonly done?: boolean;
    readonly status?: number;
  } = {},
): ChatModel & { readonly calls: ModelCall[]; readonly model: string } {
  const calls: ModelCall[] = [];
  const model = async (request: Request): Promise<Response> => {
    const { signal } = request;
    const body = (await request.json()) as ModelCall["body"];
    calls.push({ body, signal });
    if (options.status !== undefined) return new Response("no", { status: options.status });
    if (!body.stream) {
      const message = { role: "assistant", content: pieces.join("") };
      const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
      return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    }
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = pieces[at];
        await options.hold?.(at, signal);
        at += 1;
        const text =
          piece !== undefined
            ? `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: piece } }] })}\n\n`
            : options.done === false
              ? ""
              : "data: [DONE]\n\n";
        if (text !== "") controller.enqueue(new TextEncoder().encode(text));
        if (piece === undefined) controller.close();
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
  return Object.assign(model, { calls, model: "fake-chat" });
}
