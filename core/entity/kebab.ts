/**
 * The path form of an agent class, exactly as the public agent client derives it: an all-upper-case name becomes lower
 * case with `_` as `-`. In any other name every capital becomes `-x`; one leading `-` and one trailing `-` are dropped.
 * `AIAssistant` is `a-i-assistant`, whatever the client's documents say.
 */
export function kebab(name: string): string {
  if (name === name.toUpperCase() && name !== name.toLowerCase()) {
    return name.toLowerCase().replaceAll("_", "-");
  }
  return name
    .replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    .replace(/^-/, "")
    .replaceAll("_", "-")
    .replace(/-$/, "");
}

/** The actor kind of an agent class: where webhooks and agents meet. */
export function agentKindName(className: string): string {
  return `agent:${kebab(className)}`;
}
