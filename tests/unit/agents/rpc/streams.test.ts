import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";
import { eventually } from "../../../cases/eventually.ts";

/** What the stream saw when its client had left. */
const seen: unknown[] = [];

const feed = defineAgent({
  name: "stream-feed",
  initialState: { kept: 0 },
  callable: {
    endless: {
      streaming: true,
      async run(agent, stream) {
        stream.send(stream.isClosed);
        await new Promise((resolve) => {
          agent.signal.addEventListener("abort", resolve, { once: true });
        });
        seen.push(agent.signal.aborted, stream.isClosed, stream.send("more"));
        // What came so far is not lost.
        await agent.setState({ kept: 1 });
        seen.push(agent.state.kept);
      },
    },
  },
});

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [feed] });
});
afterAll(() => platform.close());

it("A stream is told at once that its client has left, and may still store something", async () => {
  const ref = platform.actors.get("agent:stream-feed", "a");
  const socket = await connect(ref);
  for (let i = 0; i < 3; i++) await socket.next();
  socket.send(JSON.stringify({ type: "rpc", id: "1", method: "endless", args: [] }));
  expect(JSON.parse(String(await socket.next()))).toMatchObject({ result: false, done: false });
  expect(seen).toEqual([]);
  socket.close();
  await eventually(() => seen.length === 4, "the stream ends");
  expect(seen).toEqual([true, true, false, 1]);
});
