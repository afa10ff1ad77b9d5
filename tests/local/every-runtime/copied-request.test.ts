import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { it } from "vitest";
import { copyOf } from "../../../core/net/client-address.ts";
import { eventually } from "../../cases/eventually.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The signal of a copy's copy, as a part keeps it that has read its request. */
function signalOfCopy(arriving: AbortSignal): AbortSignal {
  const original = new Request("http://localhost/a", { signal: arriving });
  const first = copyOf(original, new Request("http://localhost/b", original));
  return copyOf(first, new Request(first)).signal;
}

it("an abort reaches the copies of a request, whatever is collected meanwhile", async () => {
  const client = new AbortController();
  const signal = signalOfCopy(client.signal);
  for (let round = 0; round < 5; round++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  client.abort();
  await eventually(() => signal.aborted, "the copy's signal is aborted");
});
