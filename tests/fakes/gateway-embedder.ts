/** An embedder that does as it is told and remembers what it was asked. */
export interface FakeEmbedder {
  readonly texts: string[];
  /** Signals of the requests, in the order of `texts`. */
  readonly signals: AbortSignal[];
  embed(texts: string[], signal: AbortSignal): Promise<(Float32Array | number[])[]>;
  /** What a text's vector is. */
  behave: (text: string, signal: AbortSignal) => unknown;
}

/** What texts of tests are about; texts about nothing of it are all alike. */
const TOPICS = ["password", "volcano", "galaxy"];

/** Texts about the same have the same vector, unless `behave` says otherwise. */
export function fakeEmbedder(): FakeEmbedder {
  const fake: FakeEmbedder = {
    texts: [],
    signals: [],
    behave: (text) => [...TOPICS.map((topic) => Number(text.includes(topic))), 0.001],
    async embed([text = ""], signal) {
      fake.texts.push(text);
      fake.signals.push(signal);
      return [(await fake.behave(text, signal)) as number[]];
    },
  };
  return fake;
}
