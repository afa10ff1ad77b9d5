/** Thrown by what {@link metered} made when it has been read too often. */
export class TooMuchWork extends Error {}

/** Counts reads. */
export interface ReadMeter {
  left: number;
  /** What reading a keyword that measures a text costs: the validator walks through the text each time. */
  readonly textCost: number;
}

/**
 * The same value, whose reads are counted. A small schema can ask for work that grows exponentially with the document
 * (`$ref` twice in a cycle, `uniqueItems` in `uniqueItems`), and a validator has no bound of its own.
 */
export function metered<T>(value: T, meter: ReadMeter): T {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const read: unknown = Reflect.get(target, key);
      const walks = (key === "minLength" || key === "maxLength") && read !== undefined;
      spend(meter, walks ? meter.textCost : typeof read === "string" ? 1 + (read.length >> 4) : 1);
      return metered(read, meter);
    },
    ownKeys(target) {
      const keys = Reflect.ownKeys(target);
      spend(meter, keys.length);
      return keys;
    },
  });
}

function spend(meter: ReadMeter, reads: number): void {
  meter.left -= reads;
  if (meter.left < 0) throw new TooMuchWork();
}
