/** The data of server-sent events, each one JSON, without the closing word of OpenAI's. */
export function jsonEvents(text: string): Record<string, unknown>[] {
  const lines = text.split(/\r?\n/u).filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>);
}
