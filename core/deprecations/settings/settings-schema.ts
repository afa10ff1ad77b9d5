import * as v from "valibot";
import { parseInstant } from "../../http/fields/instant.ts";
import { isPinDay } from "../options.ts";
import { type DeprecationMode, type EntrySettings, WINDOWS } from "../phase.ts";

const MESSAGE = "expected a day (YYYY-MM-DD) or an RFC 3339 instant with its zone";

/** Checks a day or an instant. */
export const dayOrInstant: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check((text) => parseInstant(text) !== null, MESSAGE),
);

/** Checks the day to which a client is pinned. */
export const pinDay: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(isPinDay, 'expected a day such as "2024-06-01"'),
);

/** Checks a mode. */
export const modeSchema: v.GenericSchema<DeprecationMode> = v.picklist([
  "warn",
  "translate",
  "refuse",
  "strict",
  "off",
]);

/** Checks the settings of an entry or a row, in the file and in a request. */
export const entrySettingsSchema: v.GenericSchema<unknown, EntrySettings> = v.strictObject({
  end: v.exactOptional(v.nullable(dayOrInstant)),
  extend: v.exactOptional(dayOrInstant),
  mode: v.exactOptional(modeSchema),
  brownouts: v.exactOptional(
    v.union([
      v.literal("progressive"),
      v.pipe(
        v.array(v.strictObject({ start: dayOrInstant, end: dayOrInstant })),
        v.maxLength(WINDOWS),
      ),
    ]),
  ),
  reads: v.exactOptional(
    v.union([v.literal("after"), dayOrInstant], 'expected "after", a day or an RFC 3339 instant'),
  ),
  pause: v.exactOptional(v.boolean()),
});
