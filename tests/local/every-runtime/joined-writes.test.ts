import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { upstreamBody } from "../../../adapters/shared/http/upstream-body.ts";
import { writeUpstream } from "../../../adapters/node/write-response.ts";
import { eventually } from "../../cases/eventually.ts";

/** An answer of the Node server that notes what it is told, and whose connection has room as `state` says. */
function answer() {
  const told: string[] = [];
  const state = { hasRoom: true };
  const outgoing = Object.assign(new EventEmitter(), {
    destroyed: false,
    writeHead: (status: number) => void told.push(`head ${status}`),
    flushHeaders: () => void told.push("head leaves"),
    write(bytes: Uint8Array) {
      told.push(new TextDecoder().decode(bytes));
      return state.hasRoom;
    },
    end: () => void told.push("end"),
    destroy: () => void told.push("broken"),
  });
  return { told, state, outgoing: outgoing as unknown as ServerResponse };
}

/** An upstream's body that is written to an {@link answer}, and what its connection was told. */
function written(first: string = "") {
  const control: string[] = [];
  const body = upstreamBody({
    pause: () => void control.push("pause"),
    resume: () => void control.push("resume"),
    abort: () => void control.push("abort"),
  });
  const says = (text: string): void => body.data(new TextEncoder().encode(text));
  if (first !== "") says(first);
  const to = answer();
  writeUpstream([200, body.stream, [["content-type", "text/event-stream"]]], to.outgoing);
  control.length = 0;
  const wrote = (text: string): Promise<void> =>
    eventually(() => to.told.includes(text), `${text} is written`);
  return { ...to, body, control, says, wrote };
}

it("the events of one turn leave in one chunk, those of the next in another", async () => {
  const { told, body, says, wrote } = written();
  expect(told).toEqual(["head 200", "head leaves"]);
  says("one ");
  says("two ");
  await wrote("one two ");
  says("three ");
  await wrote("three ");
  says("four");
  body.end();
  expect(told.slice(2)).toEqual(["one two ", "three ", "four", "end"]);
});

it("the head leaves with an event that is there already", async () => {
  const { told, wrote } = written("one ");
  await wrote("one ");
  expect(told).toEqual(["head 200", "one "]);
});

it("a connection without room pauses the upstream until it has some", async () => {
  const { outgoing, state, control, says, wrote } = written();
  state.hasRoom = false;
  says("one ");
  await wrote("one ");
  expect(control).toEqual([]);
  says("two ");
  await wrote("two ");
  expect(control).toEqual(["pause"]);
  state.hasRoom = true;
  outgoing.emit("drain");
  expect(control).toEqual(["pause", "resume"]);
  says("three ");
  await wrote("three ");
  expect(control).toEqual(["pause", "resume"]);
});
