import { utf8 } from "../../crypto/encoding.ts";
import type { ActorContext, Statement } from "../../ports.ts";
import { insertParts, joinParts } from "../items/blob-parts.ts";
import { dot, fromBytes, toBytes } from "../vectors/dense.ts";
import {
  type LatentRows,
  type LexicalModel,
  lexicalModel,
  type Trained,
  trainLexical,
} from "./lexical-model.ts";
import type { Pause } from "./truncated-svd.ts";

/**
 * Two points of the cosine scale of the builtin vectors, which is not that of a neural model: what unrelated
 * text reaches half of the time (reported as 0), and what it hardly ever reaches (reported as 0.4, the
 * default threshold).
 */
export type Calibration = { readonly floor: number; readonly related: number };

/** Of hashed n-grams without any statistics; measured on English abstracts. */
export const UNTRAINED: Calibration = { floor: 0.1, related: 0.24 };

/** A cosine as a score from 0 to 1, rounded so that runtimes agree. */
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

/** Learns from texts and measures the scale. */
export async function train(texts: readonly string[], pause: Pause): Promise<TrainedModel> {
  const trained = await trainLexical(texts, pause);
  return { trained, calibration: calibrate(lexicalModel(trained), texts) };
}

const SAMPLE = 120;
/** Words of a pseudo-query: as long as a question. */
const QUERY_WORDS = 12;

/** Compares pieces as long as a question with unrelated chunks of the same corpus. */
function calibrate(model: LexicalModel, texts: readonly string[]): Calibration {
  const step = Math.max(1, Math.floor(texts.length / SAMPLE));
  const sample = texts.filter((_, at) => at % step === 0).slice(0, SAMPLE);
  const chunks = sample.map((text) => model.embed(text));
  const cosines: number[] = [];
  for (const [i, text] of sample.entries()) {
    const all = text.split(/\s+/);
    const from = Math.floor(Math.max(0, all.length - QUERY_WORDS) / 2);
    const query = model.embed(all.slice(from, from + QUERY_WORDS).join(" "));
    for (const [j, chunk] of chunks.entries()) if (i !== j) cosines.push(dot(query, chunk, 0));
  }
  cosines.sort((a, b) => a - b);
  const at = (share: number): number => cosines[Math.floor(share * cosines.length)] ?? 0;
  const floor = Math.max(0, at(0.5));
  // A corpus of near-identical texts must not push the threshold out of reach.
  return { floor, related: Math.min(0.5, Math.max(floor + 0.02, at(0.95))) };
}

/** Statements that store a training as the current one. */
export function trainedStatements(
  actor: string,
  version: number,
  { trained, calibration }: TrainedModel,
): Statement[] {
  const sql = "INSERT INTO search_models (actor, name, part, data) VALUES (?, ?, ?, ?)";
  const store = (name: string, bytes: Uint8Array): Statement[] =>
    insertParts(sql, [actor, `${version}/${name}`], bytes);
  return [
    { sql: "DELETE FROM search_models WHERE actor = ?", params: [actor] },
    ...store("terms", utf8(JSON.stringify({ terms: trained.terms, calibration }))),
    ...store("term-idf", toBytes(trained.termIdf)),
    ...(trained.latent.scales === null
      ? []
      : store("latent-scales", toBytes(trained.latent.scales))),
    ...store("latent-bytes", new Uint8Array(trained.latent.values.buffer)),
    ...store("gram-idf", toBytes(trained.gramIdf)),
  ];
}

/** The stored training of a version; null when it is not there. */
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
  const text = new TextDecoder().decode(await read("terms"));
  if (text === "") return null;
  const { terms, calibration } = JSON.parse(text) as { terms: string[]; calibration: Calibration };
  const trained = {
    terms,
    termIdf: fromBytes(await read("term-idf")),
    latent: await readLatent(read),
    gramIdf: fromBytes(await read("gram-idf")),
  };
  return { trained, calibration };
}

async function readLatent(read: (name: string) => Promise<Uint8Array>): Promise<LatentRows> {
  const bytes = new Uint8Array(await read("latent-bytes"));
  // Former versions stored four bytes a number.
  if (bytes.length === 0) return { values: fromBytes(await read("latent")), scales: null };
  return { values: new Int8Array(bytes.buffer), scales: fromBytes(await read("latent-scales")) };
}
