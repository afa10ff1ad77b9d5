/** A part of the site's navigation: its pages, by their paths in the repository. */
export interface Group {
  readonly text: string;
  readonly pages: readonly string[];
}

const gateway = (name: string): string => `docs/gateway/${name}.md`;

/** Every page of the site but its front page and the API reference, in reading order. */
export const groups: readonly Group[] = [
  {
    text: "Begin",
    pages: [
      "docs/start.md",
      "README.md",
      "docs/console.md",
      "docs/comparison.md",
      "docs/compatibility.md",
    ],
  },
  {
    text: "Gateway",
    pages: [
      "docs/gateway.md",
      ...[
        "clients",
        "access",
        "virtual-keys",
        "teams",
        "management",
        "models",
        "dynamic-routes",
        "router",
      ].map(gateway),
      ...[
        "local-models",
        "clouds",
        "translation",
        "cache",
        "streams",
        "websockets",
        "cost",
        "limits",
        "checks",
      ].map(gateway),
      ...["log", "failures", "observability", "in-process", "memory"].map(gateway),
    ],
  },
  {
    text: "Rendering",
    pages: [
      "docs/rendering.md",
      "docs/rendering/fields.md",
      "docs/rendering/markdown.md",
      "docs/rendering/crawls.md",
      "docs/rendering/pdf-edit.md",
      "docs/rendering/mcp.md",
      "docs/rendering/browser.md",
    ],
  },
  {
    text: "Search",
    pages: [
      "docs/search.md",
      "docs/search-files.md",
      "docs/search-sources.md",
      "docs/search-public.md",
    ],
  },
  {
    text: "Webhooks and agents",
    pages: [
      "docs/webhooks.md",
      "docs/webhooks/answers.md",
      "docs/webhooks/sources.md",
      "docs/webhooks/endpoints.md",
      "docs/webhooks/portal.md",
      "docs/webhook-schemes.md",
      "docs/agents.md",
      "docs/agents/connecting.md",
      "docs/agents/current-agent.md",
    ],
  },
  { text: "Deprecations", pages: ["docs/deprecations.md"] },
  {
    text: "Operate",
    pages: [
      "docs/configuration.md",
      "docs/authentication.md",
      "docs/deployment.md",
      "docs/scale.md",
      "docs/operation.md",
      "docs/upgrade.md",
      "docs/troubleshooting.md",
      "docs/processes.md",
      "docs/memory.md",
      "docs/errors.md",
    ],
  },
  {
    text: "Project",
    pages: [
      "docs/support.md",
      "CHANGELOG.md",
      "SECURITY.md",
      "ARCHITECTURE.md",
      "docs/life-of-a-request.md",
      "CONTRIBUTING.md",
      "CODE_OF_CONDUCT.md",
      "bench/RESULTS.md",
      "bench/SPEED.md",
    ],
  },
];
