/** The configuration that docs/search.md shows for models behind a gateway of the same program. */
export const gatewayModelsConfig = {
  gateway: { gateways: { main: { keys: { openai: "env:OPENAI_API_KEY" } } } },
  search: {
    embedder: { gateway: "main", model: "openai/text-embedding-3-small", dimensions: 1536 },
    chatModel: { gateway: "main", model: "openai/gpt-4o-mini" },
  },
};
