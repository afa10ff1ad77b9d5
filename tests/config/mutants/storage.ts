import type { Mutant } from "./mutant.ts";

/** Those of the database, of alarms and of the numbers that become rows. */
export const storageMutants: readonly Mutant[] = [
  {
    name: "alarms of each kind have places of their own",
    file: "adapters/shared/actors/alarm-lanes.ts",
    find: "Math.max(GUARANTEED - own.size, POOL - ringing)",
    replace: "MOST_OF_KIND - ringing",
    tests: ["tests/contract/actors"],
  },
  {
    name: "a whole number that JavaScript does not have hides no row",
    file: "adapters/shared/sqlite/sqlite-statements.ts",
    find: "if (!isOutOfRange(error)) throw error;",
    replace: "throw error;",
    tests: ["tests/contract/sql"],
  },
  {
    name: "a statement that writes reads back any whole number",
    file: "adapters/shared/sqlite/sqlite-statements.ts",
    find: "if (writes) return readRounded(statement, params);",
    replace: "if (writes) return statement.all(...params);",
    tests: ["tests/contract/sql"],
  },
  {
    name: "an alarm is set for no time that no date has",
    file: "adapters/shared/actors/alarms.ts",
    find: "at === null ? null : boundedInstant(at)",
    replace: "at",
    tests: ["tests/contract/actors"],
  },
  {
    name: "stored alarms whose time never comes go off",
    file: "adapters/shared/actors/alarms.ts",
    find: "  repairRows(options);\n",
    replace: "",
    tests: ["tests/local/alarms"],
  },
  {
    name: "a server whose alarms cannot be read is not ready",
    file: "core/signals/health.ts",
    find: "context.alarmFailure?.() ?? null",
    replace: "null",
    tests: ["tests/local/alarms"],
  },
  {
    name: "a task is delayed by no more than a hundred years",
    file: "core/agents/queue/queue.ts",
    find: 'checkNumber("delaySeconds", delaySeconds, { min: 0, max: LONGEST_SECONDS })',
    replace: "delaySeconds",
    tests: ["tests/unit/agents/schedule/numbers"],
  },
  {
    name: "a schedule is for a time that a date has",
    file: "core/agents/schedule/schedules.ts",
    find: "if (!(due >= 0 && due <= LAST_INSTANT)) throw",
    replace: "if (Number.isNaN(due)) throw",
    tests: ["tests/unit/agents/schedule/numbers"],
  },
  {
    name: "retries wait for no longer than a hundred years",
    file: "core/agents/queue/backoff.ts",
    find: 'checkNumber("maxAttempts", maxAttempts, attemptsRange);',
    replace: "",
    tests: ["tests/unit/agents/schedule/numbers"],
  },
  {
    name: "a date has a year of four digits, whatever its zone",
    file: "core/http/instant.ts",
    find: "ms >= FIRST_INSTANT && ms <= LAST_INSTANT ? ms : null",
    replace: "ms",
    tests: ["tests/unit/http/bounded-number"],
  },
  {
    name: "a whole number of a field has two ends",
    file: "core/http/fields/bounded-number.ts",
    find: "v.minValue(min, says), v.maxValue(max, says));\n}\n\n/** A schema of numbers",
    replace: "v.minValue(min, says));\n}\n\n/** A schema of numbers",
    tests: ["tests/unit/http/bounded-number"],
  },
  {
    name: "the text of a time has a fixed width",
    file: "core/entity/event.ts",
    find: "clamp(ms, 0, LAST_INSTANT)",
    replace: "ms",
    tests: ["tests/unit/http/bounded-number"],
  },
];
