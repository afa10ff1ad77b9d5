/** One guard taken away: the suites must notice. */
export interface Mutant {
  /** What no longer holds. */
  readonly name: string;
  readonly file: string;
  /** Text that stands in the file once. */
  readonly find: string;
  readonly replace: string;
  /** Where a test must fail, as vitest filters. */
  readonly tests: readonly string[];
}

/** Guards and limits whose loss nobody would see at first. `npm run test:mutants` takes each away in turn. */
export const mutants: readonly Mutant[] = [
  {
    name: "a mount path stands in headers and addresses as it is",
    file: "core/http/mount-path.ts",
    find: "if (isMountPath(path)) return path;",
    replace: "return path;",
    tests: ["tests/unit/http/mount-path"],
  },
  {
    name: "a body that streams through is sent once",
    file: "core/gateway/forward.ts",
    find: "step.body instanceof ReadableStream ? 1 : policy.attempts",
    replace: "policy.attempts",
    tests: ["tests/unit/gateway/retry-guards"],
  },
  {
    name: "a success is never retried",
    file: "core/gateway/policy.ts",
    find: 'if (status < 400 || shouldRetry === "false") return false;',
    replace: 'if (shouldRetry === "false") return false;',
    tests: ["tests/unit/gateway/policy.test.ts"],
  },
  {
    name: "a change of a gateway's settings waits for the one before",
    file: "core/gateway/gateway-actor.ts",
    find: "const done = last.then(change);",
    replace: "const done = Promise.resolve(change());",
    tests: ["tests/unit/gateway/settings-order"],
  },
  {
    name: "gateways know of a price before it is stored",
    file: "core/gateway/store.ts",
    find: "await mark(begun);",
    replace: "",
    tests: ["tests/unit/gateway/settings-order"],
  },
  {
    name: "a spend limit names a provider that exists",
    file: "core/gateway/manage/protections.ts",
    find: "await checkSpendProviders(name,",
    replace: "void (async (..._: unknown[]) => 0)(name,",
    tests: ["tests/unit/gateway/protections"],
  },
  {
    name: "a session's prompt cache grows cold",
    file: "core/gateway/router/sessions.ts",
    find: "isWarm: system.now() - session.at < WARM_MS",
    replace: "isWarm: true",
    tests: ["tests/unit/gateway/router-sessions"],
  },
  {
    name: "metrics that were not stored are sent again",
    file: "core/gateway/metrics/ledger.ts",
    find: "if (sending !== null) await send(sending);\n      if (sending === null",
    replace: "if (sending === null",
    tests: ["tests/unit/gateway/metrics/meter"],
  },
  {
    name: "an empty ledger has nothing on its way",
    file: "core/gateway/metrics/ledger.ts",
    find: "return sending === null && growing.size === 0;",
    replace: "return growing.size === 0;",
    tests: ["tests/unit/gateway/metrics/meter"],
  },
  {
    name: "only an upload's answer has its address changed",
    file: "core/gateway/upload-address.ts",
    find: ' || !tail.rest.startsWith("upload/")',
    replace: "",
    tests: ["tests/unit/gateway/sdk-addresses"],
  },
  {
    name: "a search of several instances fails when all of them fail",
    file: "core/search/retrieve/find-chunks.ts",
    find: " || errors.length === ids.length",
    replace: "",
    tests: ["tests/unit/search/api"],
  },
  {
    name: "a search asks at most ten instances",
    file: "core/search/retrieve/find-chunks.ts",
    find: 'if (ids.length > MAX_INSTANCES) throw new ApiError("too_many_instances");',
    replace: "",
    tests: ["tests/unit/search/api"],
  },
  {
    name: "an entity's name is well-formed text",
    file: "core/entity/name.ts",
    find: " || !name.isWellFormed()",
    replace: "",
    tests: ["tests/unit/entity"],
  },
  {
    name: "an entity's name holds no NUL",
    file: "core/entity/name.ts",
    find: 'name.includes("\\0") || ',
    replace: "",
    tests: ["tests/unit/entity"],
  },
  {
    name: "an entity's name is bounded in bytes",
    file: "core/entity/name.ts",
    find: "utf8(name).length > NAME_LIMIT",
    replace: "false",
    tests: ["tests/unit/entity"],
  },
  {
    name: "an instant's zone is within a day",
    file: "core/http/instant.ts",
    find: "part(9) > 23 || part(10) > 59",
    replace: "false",
    tests: ["tests/unit/http/instant"],
  },
  {
    name: "an instant's day is in the calendar",
    file: "core/http/instant.ts",
    find: "date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day",
    replace: "false",
    tests: ["tests/unit/http/instant"],
  },
  {
    name: "an agent's holds end with the platform",
    file: "core/agents/holds.ts",
    find: 'system.closing?.addEventListener("abort", release, { once: true });',
    replace: "",
    tests: ["tests/unit/agents/holds"],
  },
  {
    name: "no hold is taken while the platform closes",
    file: "core/agents/holds.ts",
    find: "if (system.closing?.aborted === true) return release;",
    replace: "",
    tests: ["tests/unit/agents/holds"],
  },
  {
    name: "a page that never settles is given up",
    file: "core/rendering/evaluate.ts",
    find: " || attempt === ATTEMPTS",
    replace: " || attempt === 1_000_000",
    tests: ["tests/unit/rendering/evaluate"],
  },
  {
    name: "a page that moved on is asked again",
    file: "core/rendering/evaluate.ts",
    find: "attempt === ATTEMPTS",
    replace: "attempt === 1",
    tests: ["tests/unit/rendering/evaluate"],
  },
  {
    name: "byte strings of one length are compared in full",
    file: "core/crypto/equal.ts",
    find: "return difference === 0;",
    replace: "return true;",
    tests: ["tests/unit/crypto"],
  },
  {
    name: "a browser that does not dispose of a page is replaced",
    file: "core/rendering/with-page.ts",
    find: "() => killBrowser(wire),",
    replace: "() => wire.close(),",
    tests: ["tests/unit/rendering/hung-browser"],
  },
  {
    name: "a page is opened again when its browser was lost before it began",
    file: "core/rendering/with-page.ts",
    find: "if (error instanceof LostBrowser) return openSession(deps, job, signal);",
    replace: "",
    tests: ["tests/unit/rendering/hung-browser"],
  },
  {
    name: "a filter sees what was indexed since",
    file: "core/search/items/commit-item.ts",
    find: "state.allowed.reset();",
    replace: "",
    tests: ["tests/unit/search/broad-filter"],
  },
  {
    name: "a filter looks behind the hits that it refuses",
    file: "core/search/retrieve/keyword-leg.ts",
    find: "found.length >= limit || rows.length < window",
    replace: "true",
    tests: ["tests/unit/search/broad-filter"],
  },
  {
    name: "an exclusive callable that would wait for itself is refused",
    file: "core/agents/rpc.ts",
    find: "exclusive && agent === call.agent",
    replace: "exclusive && agent !== call.agent",
    tests: ["tests/unit/agents/calls"],
  },
  {
    name: "a transaction takes nothing once it is over",
    file: "core/agents/transaction.ts",
    find: "  isOver = true;",
    replace: "",
    tests: ["tests/unit/agents/outbox"],
  },
  {
    name: "emptying an agent's queue takes no webhook back",
    file: "core/agents/queue.ts",
    find: " AND task <> '${SEND_JOB}'",
    replace: "",
    tests: ["tests/unit/agents/outbox"],
  },
  {
    name: "what waited for its turn for too long never begins",
    file: "core/agents/rpc.ts",
    find: "    deadline?.check();\n",
    replace: "",
    tests: ["tests/unit/agents/calls"],
  },
];
