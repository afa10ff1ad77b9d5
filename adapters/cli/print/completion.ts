import process from "node:process";
import { choiceHint } from "../../../core/text/nearest.ts";
import { settings } from "../context/settings.ts";

const help = `Usage: causey completion bash|zsh|fish

Prints a script with which your shell completes the commands and options of causey:

  bash               source <(causey completion bash)
  zsh                source <(causey completion zsh), after compinit
  fish               causey completion fish | source
`;

const serveOptions = [...settings.map(({ flag }) => flag), "config"];
const target = ["url", "data-dir", "config", "account-id", "json", "help"];
const server = ["url", "data-dir", "account-id", "json", "help"];

/** Each command: what may stand behind it, and its options. */
export const commandWords: Readonly<
  Record<string, { readonly words: readonly string[]; readonly options: readonly string[] }>
> = {
  serve: { words: [], options: [...serveOptions, "help", "version"] },
  init: { words: ["node", "deno", "bun", "workers", "hono"], options: ["causey", "json", "help"] },
  token: {
    words: ["create", "list", "revoke"],
    options: ["permission", "gateway", "expires", "name", ...target],
  },
  console: { words: [], options: ["url", "data-dir", "json", "help"] },
  logs: { words: [], options: ["follow", "url", "data-dir", "json", "help"] },
  prices: {
    words: ["check"],
    options: ["provider", "model", "config", "url", "account-id", "json", "help"],
  },
  gateway: {
    words: ["list", "show", "create", "set", "delete", "logs"],
    options: ["set", "limit", ...server],
  },
  search: {
    words: ["list", "show", "create", "set", "delete", "items", "upload", "sync", "query"],
    options: ["set", "namespace", "wait", "delete", "prefix", "watch", "limit", ...server],
  },
  render: { words: [], options: ["as", "out", "set", ...server] },
  agents: {
    words: ["list", "show", "events", "failures", "dead", "replay"],
    options: ["agent", "source", "type", "limit", ...server],
  },
  export: { words: [], options: [...server] },
  import: { words: [], options: ["dry-run", "from", "to", "database", ...server] },
  deprecations: { words: ["list", "uses"], options: ["find", "phase", ...server] },
  webhook: {
    words: ["send", "keys"],
    options: ["scheme", "url", "secret", "data", "id", "type", "json", "help"],
  },
  cluster: { words: ["status"], options: ["database", "json", "help"] },
  config: { words: ["check", "show"], options: [...serveOptions, "json", "help"] },
  doctor: { words: [], options: [...serveOptions, "json", "help"] },
  backup: { words: [], options: ["data-dir", "config", "force", "json", "help"] },
  restore: { words: [], options: ["data-dir", "config", "force", "json", "help"] },
  openapi: { words: [], options: ["url", "json", "help"] },
  completion: { words: ["bash", "zsh", "fish"], options: ["help"] },
  help: { words: [], options: [] },
  version: { words: [], options: [] },
};

const names = Object.keys(commandWords).join(" ");
const cases = Object.entries(commandWords).map(
  ([name, { words, options }]) =>
    `${name}) offers="${[...words, ...options.map((one) => `--${one}`)].join(" ")}" ;;`,
);

const scripts = {
  bash: `_causey() {
  local offers
  if [ "$COMP_CWORD" -eq 1 ]; then offers="${names}"
  else
    case "\${COMP_WORDS[1]}" in
      ${cases.join("\n      ")}
    esac
  fi
  COMPREPLY=($(compgen -W "$offers" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _causey causey
`,
  zsh: `#compdef causey
_causey() {
  local offers
  if (( CURRENT == 2 )); then offers="${names}"
  else
    case "$words[2]" in
      ${cases.join("\n      ")}
    esac
  fi
  compadd -- \${=offers} || _files
}
if [ "$funcstack[1]" = "_causey" ]; then _causey "$@"; else compdef _causey causey; fi
`,
  fish: [
    `complete -c causey -n __fish_use_subcommand -f -a "${names}"`,
    ...Object.entries(commandWords).flatMap(([name, { words, options }]) => {
      const here = `complete -c causey -n "__fish_seen_subcommand_from ${name}"`;
      return [
        ...(words.length === 0 ? [] : [`${here} -f -a "${words.join(" ")}"`]),
        ...options.map((option) => `${here} -l ${option}`),
      ];
    }),
    "",
  ].join("\n"),
} as const;

/** Runs `causey completion`. */
export function completionCommand(args: readonly string[]): void {
  const [shell = "", ...more] = args;
  if (["", "-h", "--help"].includes(shell)) return void process.stdout.write(help);
  const known = Object.keys(scripts);
  const script = Object.entries(scripts).find(([name]) => name === shell)?.[1];
  if (script === undefined || more.length > 0)
    throw new TypeError(`Unknown shell "${args.join(" ")}"${choiceHint(shell, known)}`);
  process.stdout.write(script);
}
