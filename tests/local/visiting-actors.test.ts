import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { visitingActors } from "../../adapters/processes/visiting-actors.ts";
import { openDataDir } from "../../adapters/shared/data-dir.ts";
import type { ActorKind } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";
import { closeShared, openShared, speaks } from "./open-shared.ts";

const silent = (): undefined => undefined;
const echo: ActorKind = {
  name: "echo",
  schema: [],
  start: () => ({ methods: { say: async (text: string) => text } }),
};

it("a command whose server has ended is told so at once", async () => {
  const path = mkdtempSync(join(inject("scratch"), "visiting-"));
  const server = await openShared(path, silent);
  server.define(echo);
  const command = await visitingActors({ folder: openDataDir(path), speaks, log: silent });
  const ref = command.actors.get("echo", "a");
  expect(await ref.call("say", "hello")).toBe("hello");
  await closeShared(server);
  const refusal = async (): Promise<unknown> =>
    ref.call("say", "late").catch((error: unknown) => error);
  await eventually(async () => (await refusal()) !== "late", "it has heard of the end");
  expect(await refusal()).toMatchObject({
    status: 503,
    message: "No process holds the data directory: try again later",
  });
  await command.close();
});
