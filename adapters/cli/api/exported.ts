import * as v from "valibot";

/** Version of the form of an export. */
const FORM = 1;

const facts = v.record(v.string(), v.unknown());

/** The file that `causey export` writes: settings without secrets. */
export interface Exported {
  readonly causey: typeof FORM;
  readonly custom_providers: readonly SettingFacts[];
  readonly gateways: readonly {
    readonly settings: SettingFacts;
    readonly routes: readonly { readonly name: string; readonly elements: unknown }[];
  }[];
  readonly namespaces: readonly {
    readonly name: string;
    readonly description: string | null;
    readonly instances: readonly SettingFacts[];
  }[];
  readonly webhook_endpoints: readonly SettingFacts[];
}

/** Members of an object as the API shows or takes it. */
export type SettingFacts = Readonly<Record<string, unknown>>;

export const nothing: Exported = {
  causey: FORM,
  custom_providers: [],
  gateways: [],
  namespaces: [],
  webhook_endpoints: [],
};

/** Checks the file of an export. */
export const exportedSchema: v.GenericSchema<unknown, Exported> = v.strictObject({
  causey: v.literal(FORM, `expected ${FORM}: another version has written this file`),
  custom_providers: v.array(facts),
  gateways: v.array(
    v.strictObject({
      settings: facts,
      routes: v.array(v.strictObject({ name: v.string(), elements: v.unknown() })),
    }),
  ),
  namespaces: v.array(
    v.strictObject({
      name: v.string(),
      description: v.nullable(v.string()),
      instances: v.array(facts),
    }),
  ),
  webhook_endpoints: v.array(facts),
});

/** Returns an object without some of its members. */
export function without(given: SettingFacts, names: readonly string[]): SettingFacts {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));
}
