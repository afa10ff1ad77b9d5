import { utf8 } from "../../crypto/encoding.ts";
import type { ActorContext, LongTask, Statement } from "../../ports.ts";
import { insertParts, joinParts } from "../../sql/blob-parts.ts";
import { dot, fromBytes, toBytes } from "../vectors/dense.ts";
import {
  type LatentRows,
  type LexicalModel,
  lexicalModel,
  type Trained,
  trainLexical,
} from "./lexical-model.ts";
import type { Pausing } from "./truncated-svd.ts";

/**
 * Two points of the cosine scale of the builtin vectors, which is not that of a neural model: what unrelated
 * text reaches half of the time (reported as 0), and what it hardly ever reaches (reported as 0.4, the
 * default threshold).
 */
export type Calibration = { readonly floor: number; readonly related: number };

/** The calibration of hashed n-grams without any statistics; measured on English abstracts. */
export const UNTRAINED: Calibration = { floor: 0.1, related: 0.24 };

/** Turns a cosine into a score from 0 to 1, rounded so that runtimes agree. */
export function calibrated(cosine: number, calibration: Calibration | null): number {
  if (!(cosine > 0)) return 0;
  if (calibration === null) return round(Math.min(1, cosine));
  const { floor, related } = calibration;
  if (cosine <= floor) return 0;
  if (cosine < related) return round((0.4 * (cosine - floor)) / (related - floor));
  return round(Math.min(1, 0.4 + (0.6 * (cosine - related)) / (1 - related)));
}

/** Six decimals: engines differ in the last bits of logarithms. */
export function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** A training with the scale that its scores need. */
export interface TrainedModel {
  readonly trained: Trained;
  readonly calibration: Calibration;
}

/** A training as it is stored: its parts, by name. */
export type StoredModel = { readonly [part in (typeof PARTS)[number]]: Uint8Array };

const PARTS = ["terms", "term-idf", "latent-scales", "latent-bytes", "gram-idf"] as const;

/**
 * Learns from pages of texts, each the UTF-8 of a JSON array of strings, in no order that counts. It takes seconds: on a
 * thread of its own where the runtime has threads.
 */
export const learnModel: LongTask<readonly Uint8Array[], StoredModel> = {
  name: "search/learn-model",
  kind: "training",
  load: () =>
    Promise.resolve(function* (pages) {
      const texts: string[] = [];
      for (const page of pages) {
        for (const text of JSON.parse(new TextDecoder().decode(page)) as string[]) texts.push(text);
        yield;
      }
      texts.sort();
      yield;
      const trained = yield* trainLexical(texts);
      return stored({ trained, calibration: yield* calibrate(lexicalModel(trained), texts) });
    }),
};

const SAMPLE = 120;
/** Words of a pseudo-query: as long as a question. */
const QUERY_WORDS = 12;

/** Compares pieces as long as a question with unrelated chunks of the same corpus. */
function* calibrate(model: LexicalModel, texts: readonly string[]): Pausing<Calibration> {
  const step = Math.max(1, Math.floor(texts.length / SAMPLE));
  const sample = texts.filter((_, at) => at % step === 0).slice(0, SAMPLE);
  const chunks: Float32Array[] = [];
  for (const text of sample) {
    chunks.push(model.embed(text));
    yield;
  }
  const cosines: number[] = [];
  for (const [i, text] of sample.entries()) {
    const all = text.split(/\s+/);
    const from = Math.floor(Math.max(0, all.length - QUERY_WORDS) / 2);
    const query = model.embed(all.slice(from, from + QUERY_WORDS).join(" "));
    for (const [j, chunk] of chunks.entries()) if (i !== j) cosines.push(dot(query, chunk, 0));
    yield;
  }
  cosines.sort((a, b) => a - b);
  const at = (share: number): number => cosines[Math.floor(share * cosines.length)] ?? 0;
  const floor = Math.max(0, at(0.5));
  // A corpus of near-identical texts must not push the threshold out of reach.
  return { floor, related: Math.min(0.5, Math.max(floor + 0.02, at(0.95))) };
}

function stored({ trained, calibration }: TrainedModel): StoredModel {
  const { terms, termIdf, latent, gramIdf } = trained;
  return {
    terms: utf8(JSON.stringify({ terms, calibration })),
    "term-idf": toBytes(termIdf),
    "latent-scales": latent.scales === null ? new Uint8Array() : toBytes(latent.scales),
    "latent-bytes": new Uint8Array(latent.values.buffer),
    "gram-idf": toBytes(gramIdf),
  };
}

/** Returns the training that its parts hold. */
export function trainedModel(parts: StoredModel): TrainedModel {
  const text = new TextDecoder().decode(parts.terms);
  const { terms, calibration } = JSON.parse(text) as { terms: string[]; calibration: Calibration };
  const latent: LatentRows = {
    values: new Int8Array(new Uint8Array(parts["latent-bytes"]).buffer),
    scales: fromBytes(parts["latent-scales"]),
  };
  const [termIdf, gramIdf] = [fromBytes(parts["term-idf"]), fromBytes(parts["gram-idf"])];
  return { trained: { terms, termIdf, latent, gramIdf }, calibration };
}

/** Returns statements that store a training as the current one. */
export function trainedStatements(actor: string, version: number, model: StoredModel): Statement[] {
  const sql = "INSERT INTO search_models (actor, name, part, data) VALUES (?, ?, ?, ?)";
  return [
    { sql: "DELETE FROM search_models WHERE actor = ?", params: [actor] },
    ...PARTS.flatMap((part) => insertParts(sql, [actor, `${version}/${part}`], model[part])),
  ];
}

/** Returns the stored training of a version; null when it is not there. */
export async function readTrained(
  context: ActorContext,
  version: number,
): Promise<TrainedModel | null> {
  const read = async (name: string): Promise<Uint8Array> => {
    const rows = await context.sql.all(
      "SELECT data FROM search_models WHERE actor = ? AND name = ? ORDER BY part",
      [context.name, `${version}/${name}`],
    );
    return joinParts(rows.map((row) => row["data"]).filter((data) => data instanceof Uint8Array));
  };
  const terms = await read("terms");
  if (terms.length === 0) return null;
  const model = trainedModel({
    terms,
    "term-idf": await read("term-idf"),
    "latent-scales": await read("latent-scales"),
    "latent-bytes": await read("latent-bytes"),
    "gram-idf": await read("gram-idf"),
  });
  const { values } = model.trained.latent;
  if (values.length > 0) return model;
  // Former versions stored four bytes a number.
  const latent = { values: fromBytes(await read("latent")), scales: null };
  return { ...model, trained: { ...model.trained, latent } };
}
