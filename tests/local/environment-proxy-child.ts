// Sends requests by the platform of its runtime and prints what became of each, one line of JSON per request.
import { PATIENCE_MS } from "../cases/eventually.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform, Transport } from "../../core/ports.ts";

const [runtime = "", plain = ""] = process.argv.slice(2);

async function outcome(transport: Transport, url: string): Promise<string> {
  try {
    const request = { method: "POST", url, headers: [], body: new TextEncoder().encode("hello") };
    const { status, body } = await transport.send(request);
    if (!url.endsWith("/stream")) return `${status} ${await new Response(body as BodyInit).text()}`;
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    await reader.cancel();
    return new TextDecoder().decode(value);
  } catch (error) {
    return String(error);
  }
}

/** What a WebSocket says first, and of a message that is larger than a packet. */
async function conversation(url: string, more: object = {}): Promise<string> {
  const request = { url, headers: [["x-own", "v"] as const], reach: "configured" as const };
  try {
    const dialled = await platform.webSockets.dial({
      ...request,
      signal: new AbortController().signal,
      timeoutMs: PATIENCE_MS,
      ...more,
    });
    if ("refusal" in dialled) return `refused ${dialled.refusal.status}`;
    const { duplex } = dialled;
    const first = await duplex.receive();
    const long = "x".repeat(300_000);
    await duplex.send(long);
    const same = (await duplex.receive()) === long;
    duplex.close(4001, "");
    await duplex.closed;
    return `${String(first)} ${same}`;
  } catch (error) {
    return String(error);
  }
}

const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({
  dataDir: ":memory:",
  log: () => undefined,
  allowHosts: ["localhost"],
});
const { egress, transport } = platform;
const print = async (name: string, from: Transport, url: string): Promise<void> => {
  process.stdout.write(`${JSON.stringify([name, await outcome(from, url)])}\n`);
};
await print("http", transport, "http://site.test/a");
await print("https", transport, "https://site.test/b?key=s3cret");
await print("stream", transport, "https://site.test/stream");
await print("refused", transport, "https://forbidden.test/?key=s3cret");
await print("no proxy", transport, "https://name.internal.invalid/");
await print("loopback", transport, `http://127.0.0.1:${plain}/c`);
await print("localhost", transport, `http://localhost:${plain}/d`);
await print("guarded loopback", egress, `http://localhost:${plain}/e`);
await print("guarded", egress, "http://name.invalid/");

const talk = async (name: string, url: string, more: object = {}): Promise<void> => {
  process.stdout.write(`${JSON.stringify([name, await conversation(url, more)])}\n`);
};
await talk("socket", "ws://site.test/e");
await talk("secure socket", "wss://site.test/f?key=s3cret");
await talk("http socket", "http://site.test/g");
await talk("refused socket", "wss://site.test/no");
await talk("socket without a way", "wss://forbidden.test/?key=s3cret");
await talk("unproxied socket", "wss://name.internal.invalid/");
await talk("loopback socket", `ws://127.0.0.1:${plain}/h`);
await talk("silent proxy", "wss://silent.test/", { timeoutMs: 300 });
const left = new AbortController();
const leaving = talk("left socket", "wss://silent.test/", { signal: left.signal });
setTimeout(() => left.abort(), 300);
await leaving;
await talk("steered socket", "wss://name.invalid/", { reach: "public" });
await platform.close();
