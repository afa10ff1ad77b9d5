import { afterEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { runThrough } from "../../../core/work/background.ts";
import type { Platform } from "../../../core/ports.ts";
import { LATENT_DIMENSIONS, lexicalModel } from "../../../core/search/lexical/lexical-model.ts";
import {
  learnModel,
  readTrained,
  type StoredModel,
  trainedModel,
  trainedStatements,
} from "../../../core/search/lexical/trained-model.ts";
import { toBytes } from "../../../core/search/vectors/dense.ts";
import { insideInstance } from "../../fakes/inside-instance.ts";

// What a training learned, in rows: a byte a number, and what former versions stored.

let platform: Platform;
afterEach(() => platform.close());

const texts = Array.from(
  { length: 240 },
  (_, n) => `harbour ship ${n % 7 === 0 ? "anchor" : "sail"} word${n % 31} word${n % 13}`,
);

async function learnedOf(page: readonly string[]): Promise<StoredModel> {
  const steps = await learnModel.load();
  return runThrough(steps([new TextEncoder().encode(JSON.stringify(page))]));
}

describe("a training in rows", () => {
  it("makes the same vectors when it is read again, with about a byte a number", async () => {
    platform = await openPlatform();
    const { learned, read, stored } = await insideInstance(platform, async (context) => {
      const model = await learnedOf(texts);
      await context.sql.batch(trainedStatements(context.name, 3, model));
      const [row] = await context.sql.all(
        "SELECT SUM(LENGTH(data)) AS n FROM search_models WHERE actor = ? AND name LIKE '3/latent%'",
        [context.name],
      );
      return {
        learned: trainedModel(model),
        read: await readTrained(context, 3),
        stored: Number(row?.["n"]),
      };
    });
    expect(read?.calibration).toEqual(learned.calibration);
    const text = "a ship with its anchor";
    expect(lexicalModel(read?.trained ?? null).embed(text)).toEqual(
      lexicalModel(learned.trained).embed(text),
    );
    expect(stored).toBeLessThan(learned.trained.terms.length * (LATENT_DIMENSIONS + 5));
  });

  it("of a former version keeps its four bytes a number, which its vectors were made with", async () => {
    platform = await openPlatform();
    const latent = Float32Array.from({ length: 2 * LATENT_DIMENSIONS }, (_, n) => Math.sin(n));
    const read = await insideInstance(platform, async (context) => {
      const add = (name: string, data: Uint8Array) => ({
        sql: "INSERT INTO search_models (actor, name, part, data) VALUES (?, ?, 0, ?)",
        params: [context.name, `1/${name}`, data],
      });
      const calibration = { floor: 0.1, related: 0.3 };
      await context.sql.batch([
        add("terms", new TextEncoder().encode(JSON.stringify({ terms: ["a", "b"], calibration }))),
        add("term-idf", toBytes(Float32Array.of(1, 2))),
        add("latent", toBytes(latent)),
        add("gram-idf", toBytes(new Float32Array(32_768).fill(1))),
      ]);
      return readTrained(context, 1);
    });
    expect(read?.trained.latent).toEqual({ values: latent, scales: null });
  });
});
