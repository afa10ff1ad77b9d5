/** Names that the runtime answers on every agent. */
export const builtInCallables = ["getEvents", "getEventsByType"] as const;

/** Name of the queued job of an outbound webhook. */
export const SEND_JOB = "webhooks.send";
