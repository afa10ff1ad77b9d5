/**
 * SQL that changes tables once. A version of the program that does not know a step refuses the database, except for an `additive` step:
 * its statements run as before on tables with the step.
 */
export type SchemaStep = string | { readonly additive: string };

/** Returns the SQL of a step. */
export function stepSql(step: SchemaStep): string {
  return typeof step === "string" ? step : step.additive;
}

/** Returns how many of these steps a version has to know to work with tables on which all of them ran. */
export function neededSteps(steps: readonly SchemaStep[]): number {
  return steps.findLastIndex((step) => typeof step === "string") + 1;
}
