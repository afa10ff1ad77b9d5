import * as v from "valibot";
import { plainText } from "../../../http/plain-text.ts";

export interface PoolTarget {
  /** `{provider}/{model}`. */
  readonly model: string;
  /** The alias of the provider's key that is used. @default the provider's default key */
  readonly key?: string | undefined;
  /** Its share of the requests beside the others' weights; 0 = it is asked only when all others cannot serve. @default 1 */
  readonly weight?: number | undefined;
}

/** Models that share the requests for one name. */
export interface DeclaredPool {
  readonly targets: readonly PoolTarget[];
  /** Seconds for which a target that cannot serve is passed over, where its answer does not say how long. @default 30 */
  readonly coolDownSeconds?: number | undefined;
}

/** The model behind a name of the operator's, or a pool of models. */
export type DeclaredModel = string | DeclaredPool;

/** Names of one gateway, and targets behind one name. */
const NAMES = 256;
const TARGETS = 16;

const model = plainText(256);

const pool = v.strictObject({
  targets: v.pipe(
    v.array(
      v.strictObject({
        model,
        key: v.exactOptional(plainText(64)),
        weight: v.exactOptional(v.pipe(v.number(), v.minValue(0), v.maxValue(1000))),
      }),
    ),
    v.minLength(1, "expected at least one target"),
    v.maxLength(TARGETS, `at most ${TARGETS} targets are allowed`),
  ),
  coolDownSeconds: v.exactOptional(v.pipe(v.number(), v.minValue(1), v.maxValue(3600))),
});

/** Checks names of models and what is behind each. */
export const declaredModels: v.GenericSchema<unknown, Record<string, DeclaredModel>> = v.pipe(
  v.record(plainText(256), v.union([model, pool])),
  v.check((names) => Object.keys(names).length <= NAMES, `at most ${NAMES} names are allowed`),
);
