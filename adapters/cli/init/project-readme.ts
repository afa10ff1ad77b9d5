import type { Kind } from "./kinds.ts";

/** Returns the README of a project: how it is started, three lines to try, and what to change where. */
export function projectReadme(name: string, kind: Kind, files: readonly string[]): string {
  const { install, start, secrets, runtime, parts = [] } = kind;
  const program = files.find((path) => /^(?:server|main)\.ts$/u.test(path)) ?? "";
  const isWorker = secrets === ".dev.vars";
  const console = isWorker
    ? "Log in at <http://127.0.0.1:8787/console> with the token in `.causey/token`."
    : "The start prints a link that logs in to the console.";
  const api = "http://127.0.0.1:8787/client/v4/accounts/local";
  const token = `"Authorization: Bearer $CAUSEY_TOKEN"`;
  return `# ${name}

The platform of [causey](https://github.com/causey/causey#readme) on ${runtime}, in a program of your own.

\`\`\`sh
${install}
${start}
\`\`\`

${console} Then try three lines in a second terminal, in this folder:

\`\`\`sh
export CAUSEY_TOKEN=$(cat .causey/token)
curl -s http://127.0.0.1:8787/v1/local/default/echo/chat/completions -H "cf-aig-authorization: Bearer $CAUSEY_TOKEN" -d '{"model":"echo","messages":[{"role":"user","content":"Hello"}]}'
curl -s ${api}/browser-rendering/markdown -H ${token} -d '{"html":"<h1>Hello</h1>"}'
curl -s "${api}/ai-gateway/gateways/default/logs?per_page=1" -H ${token}
\`\`\`

[Start](https://github.com/causey/causey/blob/main/docs/start.md) goes on from here: every line of it works in this folder.

| File | What it is for |
| --- | --- |
| \`${program}\` | The program. Add routes and agents of yours here |
${parts.map(([part, purpose]) => `| \`${part}\` | ${purpose} |\n`).join("")}| \`causey.json\` | The [settings](https://github.com/causey/causey/blob/main/docs/configuration.md): providers, keys, budgets, sources of webhooks |
| \`${secrets}\` | The secrets. git leaves it out, and \`.causey\` too, which has the data and, for the lines above, the secrets again |
| \`http://127.0.0.1:8787/docs\` | The API, described |
`;
}
