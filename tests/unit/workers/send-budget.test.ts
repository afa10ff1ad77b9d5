import { expect, test } from "vitest";
import { sendBudget } from "../../../adapters/workers/objects/send-budget.ts";

/** The budget only compares connections by identity. */
const connection = (): WebSocket => Object.create(null) as WebSocket;

test("a burst above the budget is refused, for that connection only", () => {
  const budget = sendBudget(100, () => 0);
  const [one, other] = [connection(), connection()];
  expect(budget.spend(one, 60)).toBe(true);
  expect(budget.spend(one, 60)).toBe(false);
  expect(budget.spend(other, 60)).toBe(true);
});

test("what was sent counts as read at the budget's size per second", () => {
  let now = 0;
  const budget = sendBudget(100, () => now);
  const one = connection();
  budget.spend(one, 100);
  now = 500;
  expect(budget.spend(one, 51)).toBe(false);
  expect(budget.spend(one, 50)).toBe(true);
});

test("one frame above the budget passes when nothing else waits", () => {
  const budget = sendBudget(100, () => 0);
  const one = connection();
  expect(budget.spend(one, 1000)).toBe(true);
  expect(budget.spend(one, 1)).toBe(false);
});

test("a clock that goes back refills nothing", () => {
  let now = 1000;
  const budget = sendBudget(100, () => now);
  const one = connection();
  budget.spend(one, 100);
  now = 0;
  expect(budget.spend(one, 1)).toBe(false);
});
