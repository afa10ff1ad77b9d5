import { expecting } from "../../http/fields/misfit.ts";
import * as v from "valibot";
import { LONGEST_SECONDS, whole } from "../../http/fields/bounded-number.ts";
import { parseInstant } from "../../http/fields/instant.ts";
import { filterProblem } from "../../http/json/payload-filter.ts";
import type { SourceOptions } from "./source-options.ts";

/** A source as the file and the API give it: its scheme is a built-in one. */
export type SourceSettings = Omit<SourceOptions, "scheme"> & { readonly scheme: string };

const text = v.pipe(v.string(), v.minLength(1, "expected a text, got an empty string"));
const secretText = v.pipe(v.string(), v.minLength(1, "expected a secret, got an empty string"));
const texts = v.array(text);
const instant = v.pipe(
  v.string(),
  v.check((value) => parseInstant(value) !== null, "expected an RFC 3339 instant with its zone"),
);
const expiring = v.union([
  secretText,
  v.strictObject({ secret: secretText, expiresAt: v.exactOptional(instant) }),
]);
const entitySecrets = v.record(v.string(), v.union([expiring, v.array(expiring)]));
const seconds = whole(0, LONGEST_SECONDS);
const entity = v.variant("from", [
  v.strictObject({
    from: v.literal("payload"),
    path: v.union([
      v.string(),
      // Each may go through a whole list of the payload.
      v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(20)),
    ]),
  }),
  v.strictObject({ from: v.literal("header"), name: v.string() }),
  v.strictObject({ from: v.literal("path") }),
]);

/** The members of {@link SourceSettings}. */
const members = {
  scheme: v.string(),
  secret: v.exactOptional(secretText),
  secrets: v.exactOptional(v.array(expiring)),
  verifyToken: v.exactOptional(secretText),
  audience: v.exactOptional(v.string()),
  entitySecrets: v.exactOptional(entitySecrets),
  respond: v.exactOptional(v.picklist(["processed", "queued"])),
  answerSeconds: v.exactOptional(v.pipe(v.number(), v.minValue(0.1), v.maxValue(30))),
  answer: v.exactOptional(
    v.strictObject({
      status: v.exactOptional(whole(200, 299)),
      type: v.exactOptional(v.pipe(v.string(), v.maxLength(128))),
      body: v.exactOptional(v.pipe(v.string(), v.maxLength(65_536))),
    }),
  ),
  forward: v.exactOptional(
    v.union([
      v.boolean(),
      v.strictObject({
        filter: v.exactOptional(
          v.pipe(
            v.record(v.string(), v.unknown()),
            v.check(
              (value) => filterProblem(value) === null,
              ({ input }) => filterProblem(input) ?? "expected a condition",
            ),
          ),
        ),
      }),
    ]),
  ),
  toleranceSeconds: v.exactOptional(seconds),
  publicUrl: v.exactOptional(
    v.pipe(
      v.string(),
      v.url("expected an absolute URL"),
      v.regex(/^https?:/i, "expected an http or https URL"),
    ),
  ),
  bodyDedupeSeconds: v.exactOptional(seconds),
  header: v.exactOptional(v.string()),
  entity: v.exactOptional(entity),
  fallbackEntity: v.exactOptional(v.string()),
  group: v.exactOptional(v.string()),
  prefixed: v.exactOptional(v.boolean()),
  entities: v.exactOptional(texts),
  formerNames: v.exactOptional(texts),
  agent: v.exactOptional(v.string()),
} satisfies { readonly [Name in keyof SourceSettings]-?: v.GenericSchema };

/** Checks the settings of a source, in the file and in a request. */
export const sourceSettings: v.GenericSchema<unknown, SourceSettings> = v.strictObject(members);

/** New settings of a stored source: null removes what is otherwise kept. */
export type SourceReplacement = Omit<SourceSettings, "verifyToken" | "entitySecrets"> & {
  readonly verifyToken?: string | null;
  readonly entitySecrets?: SourceSettings["entitySecrets"] | null;
};

/** Body of `PUT …/sources/:name`. */
export const sourceReplacement: v.GenericSchema<unknown, SourceReplacement> = v.strictObject({
  ...members,
  verifyToken: v.exactOptional(v.nullable(secretText)),
  entitySecrets: v.exactOptional(v.nullable(entitySecrets)),
});

/** Body of `POST …/sources`. */
export const sourceInput: v.GenericSchema<unknown, SourceSettings & { readonly name: string }> =
  v.strictObject({
    /** The first segment of the path that the sender calls. */
    name: v.pipe(
      v.string(),
      v.regex(/^[A-Za-z0-9_-]{1,64}$/, expecting("1 to 64 of A-Z, a-z, 0-9, _ and -")),
    ),
    ...members,
  });

/** A checked body of `POST …/sources/:name/rotate`. */
export type SourceRotation = { readonly secret: string; readonly grace_seconds: number };

/** Body of `POST …/sources/:name/rotate`. */
export const sourceRotation: v.GenericSchema<unknown, SourceRotation> = v.strictObject({
  /** The new secret; what the sender signs with it is taken from now on. */
  secret: secretText,
  /** Seconds for which the old secrets are taken, too; 0 ends them at once. */
  grace_seconds: v.optional(whole(0, 30 * 86_400), 86_400),
});
