/** Names that the runtime answers on every agent. */
export const builtInCallables = ["getEvents", "getEventsByType"] as const;
