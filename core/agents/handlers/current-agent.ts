import { invalidOptions } from "../../http/api-error.ts";
import type { Platform } from "../../ports.ts";
import type { Agent } from "../define/agent.ts";

/**
 * Returns the agent whose handler, callable or task runs the calling code, also after an `await`; null outside of one. Other
 * than the agent that a handler gets, code that did not receive it as a parameter can get it, too. Throws `invalid_options` where the
 * platform has no `AsyncLocalStorage`: on Workers, unless the option `asyncLocalStorage` brings one.
 *
 * @example
 * ```ts
 * import { defineAgent, getCurrentAgent } from "causey/agents";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const log = (text: string) => console.log(getCurrentAgent(platform)?.name, text);
 * const Greeter = defineAgent({ name: "greeter", callable: { hello: () => log("Hello") } });
 * ```
 */
export function getCurrentAgent(platform: {
  readonly system: Pick<Platform["system"], "asyncLocal">;
}): Agent | null {
  const { asyncLocal } = platform.system;
  if (asyncLocal === undefined) {
    throw invalidOptions(
      'getCurrentAgent() needs an AsyncLocalStorage: on Workers set the compatibility flag "nodejs_als" and give workersPlatform() asyncLocalStorage: new AsyncLocalStorage(), of "node:async_hooks"',
    );
  }
  // `as`: nothing but the runner of handlers sets it.
  return (asyncLocal.getStore() as Agent | undefined) ?? null;
}
