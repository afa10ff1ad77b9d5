import type { Answers } from "../scripts/openapi/answers.ts";
import { count } from "./format.ts";

/** A limit with what is used of it. */
export type LimitView = Answers["Team"]["usage"][number];

/** A limit in words. */
export function limitText(limit: LimitView): string {
  const { window: length, models, soft } = limit;
  const time =
    length === null ? "in all" : `per ${typeof length === "string" ? length : `${length} s`}`;
  const of = models === undefined ? "" : ` for ${models.join(", ")}`;
  return `${amount(limit, limit.limit)} ${time}${of}${soft === true ? ", soft" : ""}`;
}

/** An amount of a limit, in its unit. */
export function amount({ limitType }: LimitView, value: number): string {
  return limitType === "cost" ? usd(value) : `${count(value)} ${limitType}`;
}

/** An amount of money; small ones keep two digits that say something. */
export function usd(value: number): string {
  const digits = value === 0 || value >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(value)));
  return `$${value.toFixed(Math.max(2, digits))}`;
}
