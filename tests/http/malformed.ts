/** A request that no route may accept. */
export interface MalformedRequest {
  readonly path: string;
  readonly init: {
    readonly method: string;
    readonly headers?: Record<string, string>;
    readonly body?: string | Uint8Array<ArrayBuffer>;
  };
}

/** Bodies that are JSON nowhere in the API, or JSON of no route's shape. */
const bodies: readonly (string | Uint8Array<ArrayBuffer>)[] = [
  "",
  "{",
  "null",
  "[]",
  "[[[[[[[[[[[[[[[[[[[[",
  '"text"',
  "1e999",
  '{"messages":"x"}',
  '{"messages":[{"role":"nobody","content":1}]}',
  '{"__proto__":{"admin":true}}',
  '{"url":"","html":""}',
  '{"url":"file:///etc/passwd"}',
  '{"id":"../../x","name":{"$gt":""}}',
  "[".repeat(5000),
  `{"a":${'{"a":'.repeat(2000)}1${"}".repeat(2000)}}`,
  new Uint8Array([0xff, 0xfe, 0x00, 0x80]),
  "--x\r\nbroken multipart",
];

const contentTypes = [
  "application/json",
  "text/plain",
  "multipart/form-data",
  "multipart/form-data; boundary=x",
  "application/json; charset=utf-7",
  "",
];
const segments = [
  "..%2f..%2f",
  "%00",
  "%ff",
  "%E0%A4%A",
  "a".repeat(300),
  "'; DROP TABLE x; --",
  "%F0%9F%92%A9",
  "-1",
  "*",
];

/** `count` requests made from a seed, the same for the same seed; one iterator may feed several workers. */
export function* malformedRequests(options: {
  account: string;
  count: number;
  seed: number;
}): Generator<MalformedRequest> {
  const random = generator(options.seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const { account } = options;
  const posts = [
    `${account}/browser-rendering/pdf`,
    `${account}/browser-rendering/markdown`,
    `${account}/ai-search/instances`,
    `${account}/ai-search/instances/demo/search`,
    `${account}/ai-search/instances/demo/chat/completions`,
    `${account}/ai-search/namespaces/default/instances/demo/items`,
    `${account}/ai-gateway/gateways`,
    `${account}/webhooks/endpoints`,
    "/client/v4/user/tokens",
    "/v1/local/no-such-gateway/openai/chat/completions",
    "/v1/local/default/no-such-provider/x",
    "/webhooks/demo",
    "/webhooks/demo/entity",
  ];
  for (let i = 0; i < options.count; i++) {
    const kind = random();
    const headers = {
      "content-type": pick(contentTypes),
      "x-signature": `sha256=${pick(["", "zz", "0".repeat(64), "x".repeat(3000)])}`,
    };
    if (kind < 0.6)
      yield { path: pick(posts), init: { method: "POST", headers, body: pick(bodies) } };
    else if (kind < 0.8)
      yield {
        path: `${pick(posts)}/${pick(segments)}/${pick(segments)}`,
        init: { method: pick(["GET", "PUT", "PATCH", "DELETE"]), headers },
      };
    else
      yield {
        path: `/${pick(["client/v4", "v1", "webhooks", "agents", "x"])}/${pick(segments)}`,
        init: { method: pick(["GET", "DELETE"]), headers },
      };
  }
}

/** A small pseudo-random generator (mulberry32), so that a failure can be repeated. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
