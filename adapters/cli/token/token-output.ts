import * as v from "valibot";
import type { PolicyInput } from "../../../core/auth/policies.ts";
import { table } from "../api/output.ts";

/** The request that creates a token. */
export interface TokenBody {
  readonly name: string;
  readonly policies: readonly PolicyInput[];
  readonly expires_on?: string;
}

/** A token as the API shows it. */
export interface ShownToken {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** Only where it is made. */
  readonly value?: string | undefined;
  readonly expires_on?: string | undefined;
  readonly last_used_on?: string | undefined;
  readonly policies: readonly {
    readonly effect: string;
    readonly permission_groups: readonly { readonly name: string }[];
    readonly resources: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  }[];
}

/** The fields that are read from an answer; unknown fields are kept. */
export const shownTokenSchema: v.GenericSchema<unknown, ShownToken> = v.looseObject({
  id: v.string(),
  name: v.string(),
  status: v.string(),
  value: v.optional(v.string()),
  expires_on: v.optional(v.string()),
  last_used_on: v.optional(v.string()),
  policies: v.array(
    v.looseObject({
      effect: v.string(),
      permission_groups: v.array(v.looseObject({ name: v.string() })),
      resources: v.record(v.string(), v.union([v.string(), v.record(v.string(), v.string())])),
    }),
  ),
});

/** Formats tokens as lines for people. */
export function tokenTable(tokens: readonly ShownToken[]): string {
  const head = ["ID", "NAME", "STATUS", "EXPIRES", "LAST USED", "PERMISSIONS"];
  return table(
    head,
    tokens.map((one) => [
      one.id,
      one.name,
      one.status,
      one.expires_on ?? "never",
      one.last_used_on ?? "never",
      permissionsOf(one),
    ]),
  );
}

function permissionsOf({ policies }: ShownToken): string {
  return policies
    .map(({ effect, permission_groups, resources }) => {
      const names = permission_groups.map(({ name }) => name).join(", ");
      const gateways = Object.values(resources).flatMap((scope) =>
        typeof scope === "string"
          ? []
          : Object.keys(scope).map((key) => key.slice(key.lastIndexOf(".") + 1)),
      );
      const where = gateways.length === 0 ? "" : ` on ${gateways.join(", ")}`;
      return `${effect === "deny" ? "not " : ""}${names}${where}`;
    })
    .join("; ");
}
