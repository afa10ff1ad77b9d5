// Asks /healthz on a thread of its own, so that what the benchmark itself does holds nothing up. A message ends it.
import { parentPort, workerData } from "node:worker_threads";

const EVERY_MS = 5;

const { url } = workerData as { readonly url: string };
const waits: number[] = [];
const run = { isOver: false };
parentPort?.once("message", () => {
  run.isOver = true;
});
while (!run.isOver) {
  const at = performance.now();
  await (await fetch(url)).arrayBuffer();
  waits.push(performance.now() - at);
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
parentPort?.postMessage(waits);
