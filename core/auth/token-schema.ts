import * as v from "valibot";
import { parseInstant } from "../http/fields/instant.ts";
import { type PolicyInput, policySchema } from "./policies.ts";

/** A token as a client sends it to create or to update one. Times are Unix ms; null clears, undefined leaves. */
export interface TokenInput {
  readonly name: string;
  readonly policies: readonly PolicyInput[];
  readonly status?: "active" | "disabled" | "expired" | undefined;
  readonly not_before?: number | null | undefined;
  readonly expires_on?: number | null | undefined;
}

/** The page and filter of a list of tokens. */
export interface TokenQuery {
  readonly page: number;
  readonly per_page: number;
  readonly direction: "asc" | "desc";
  readonly include_expired: boolean;
}

const instant = v.pipe(
  v.string(),
  v.transform(parseInstant),
  v.number('expected an RFC 3339 date-time such as "2030-01-01T00:00:00Z"'),
);

/** The core does not know addresses, so a restriction by address would be an empty promise. */
const noCondition = v.strictObject(
  {},
  "Restrictions by request_ip are not supported: leave condition out",
);

/** The body of `POST /user/tokens` and `PUT /user/tokens/:token_id`. */
export const tokenInputSchema: v.GenericSchema<unknown, TokenInput> = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(120)),
  policies: v.pipe(v.array(policySchema), v.minLength(1), v.maxLength(50)),
  status: v.optional(v.picklist(["active", "disabled", "expired"])),
  not_before: v.nullish(instant),
  expires_on: v.nullish(instant),
  condition: v.nullish(noCondition),
});

const count = (fallback: string, max: number) =>
  v.pipe(
    v.optional(v.string(), fallback),
    v.digits(`expected a whole number from 1 to ${max}`),
    v.transform(Number),
    v.minValue(1),
    v.maxValue(max),
  );

const tokenQuery = {
  page: count("1", 1_000_000),
  per_page: count("20", 100),
  direction: v.optional(v.picklist(["asc", "desc"]), "desc"),
  include_expired: v.pipe(
    v.optional(v.picklist(["true", "false"]), "false"),
    v.transform((text) => text === "true"),
  ),
};

/** The query of the list of tokens. */
export const tokenQuerySchema: v.GenericSchema<unknown, TokenQuery> = v.object(tokenQuery);

/** The query of the list of accounts. */
export const accountQuerySchema: v.GenericSchema<
  unknown,
  TokenQuery & { readonly name?: string | undefined }
> = v.object({ ...tokenQuery, name: v.optional(v.string()) });
