import { invalidOptions } from "../../http/api-error.ts";
import type { Deadline } from "../turns/deadline.ts";
import type {
  AgentCall,
  AgentConversation,
  AgentGateway,
  AgentPage,
  AgentQuestion,
  AgentRender,
  AgentRenderings,
  AgentSearch,
  AgentServices,
} from "./services.ts";

/** Other parts of the same program, where `agents()` was given them. */
export interface AgentCapabilities {
  /**
   * A gateway of the same program: `agent.gateway("default").run({ provider, endpoint, query })`, without a token. Its
   * requests end with this run's time. Throws where `agents()` was given no `gateway`.
   */
  gateway(name?: string): AgentGateway;
  /**
   * A search instance of the account: `agent.search("docs").search({ query })`, without a token. Ends with this run's
   * time. Throws where `agents()` was given no `search`.
   */
  search(instance: string, namespace?: string): AgentSearch;
  /**
   * Renders pages: `agent.render.markdown({ url })`, without a token, in the browser's turn and by its rules. Ends with
   * this run's time. Rejects where `agents()` was given no `render`.
   */
  readonly render: AgentRender;
}

/** The capabilities for one run of a handler. */
export function capabilitiesOf(
  services: AgentServices,
  deadline: Deadline,
  trace: string | null = null,
): AgentCapabilities {
  const own = trace ?? undefined;
  const within = (signal = deadline.signal): AbortSignal =>
    AbortSignal.any([signal, deadline.signal]);
  const inTime = ({ signal, traceparent = own }: AgentCall): AgentCall => ({
    signal: within(signal),
    traceparent,
  });
  const whileRunning =
    <Body, Result>(work: (body: Body, call: AgentCall) => Promise<Result>) =>
    async (body: Body, call: AgentCall = {}): Promise<Result> => {
      deadline.check();
      return work(body, inTime(call));
    };
  const rendered = <Name extends keyof AgentRender>(name: Name) =>
    whileRunning((page: AgentPage, call): Promise<AgentRenderings[Name]> =>
      given("render", services.render)[name](page, call),
    );
  return {
    gateway(name = "default") {
      deadline.check();
      const binding = given("gateway", services.gateway)(name);
      return {
        run: (steps, options = {}) => {
          deadline.check();
          const named: Readonly<Record<string, string>> =
            own === undefined ? {} : { traceparent: own };
          const extraHeaders = { ...named, ...options.extraHeaders };
          return binding.run(steps, { ...options, extraHeaders, signal: within(options.signal) });
        },
      };
    },
    search(instance, namespace) {
      deadline.check();
      const binding = given("search", services.search)(instance, namespace);
      return {
        search: whileRunning((body: AgentQuestion, call) => binding.search(body, call)),
        chatCompletions: whileRunning((body: AgentConversation, call) =>
          binding.chatCompletions(body, call),
        ),
      };
    },
    render: {
      pdf: rendered("pdf"),
      screenshot: rendered("screenshot"),
      markdown: rendered("markdown"),
      json: rendered("json"),
      content: rendered("content"),
      links: rendered("links"),
      scrape: rendered("scrape"),
      snapshot: rendered("snapshot"),
    },
  };
}

/** A capability that `agents()` was given; throws where it was not. */
function given<Capability>(name: string, capability: Capability | undefined): Capability {
  if (capability !== undefined) return capability;
  const message = `agent.${name} needs the option "${name}" of agents(), which platformApi() gives`;
  throw invalidOptions(message);
}
