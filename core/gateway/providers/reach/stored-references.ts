import { type Json, jsonText, ownMember } from "../../../http/json.ts";
import { jsonPlaces, unambiguousJson } from "../../wire/json-places.ts";

/** Something that is kept at a provider, by the collection in which its API has it. */
export interface StoredReference {
  readonly collection: string;
  readonly id: string;
}

/** A place where a format names something that is kept at the provider. */
interface ReferencePlace {
  /** The collection in the provider's API; a key's `paths` can open it. */
  readonly collection: string;
  /** Values that name nothing that is kept. @default each does */
  readonly unless?: RegExp;
  /** Whether the object that holds the value refers to something at all. @default yes */
  readonly holds?: (owner: Json) => boolean;
}

const of = (collection: string, more: Partial<ReferencePlace> = {}): ReferencePlace => ({
  collection,
  ...more,
});

const files = of("files");
/** Addresses of Google's own storage, and names of its files, are read with the operator's credential. */
const googleFile = of("files", {
  unless:
    /^https?:\/\/(?![^/?#]*(?:googleapis\.com|storage\.cloud\.google\.com)\.?(?::\d*)?(?:[/?#]|$))/i,
});
/**
 * The member that holds the content of an item of each type; without it OpenAI looks the item up by its id. Other types are
 * unknown (https://platform.openai.com/docs/api-reference/responses/create#responses-create-input).
 */
const saidBy: Readonly<Record<string, string>> = {
  message: "content",
  reasoning: "encrypted_content",
  compaction: "encrypted_content",
  function_call: "arguments",
  function_call_output: "output",
  custom_tool_call: "input",
  custom_tool_call_output: "output",
  image_generation_call: "result",
  web_search_call: "action",
  file_search_call: "queries",
  code_interpreter_call: "code",
  computer_call: "action",
  computer_call_output: "output",
  local_shell_call: "action",
  local_shell_call_output: "output",
  shell_call: "action",
  shell_call_output: "output",
  apply_patch_call: "operation",
  apply_patch_call_output: "output",
  mcp_call: "arguments",
  mcp_list_tools: "tools",
  mcp_approval_request: "arguments",
  mcp_approval_response: "approval_request_id",
};
const item = of("responses", {
  holds(owner) {
    const said = ownMember(saidBy, jsonText(owner["type"] ?? "message"));
    return said === undefined || owner[said] == null;
  },
});

/** Roots below which a message, or a part of it, can name a file. */
const MESSAGES = ["messages", "input", "system", "item", "response.input"];
/** The roots of requests: bodies, and messages of WebSockets. */
const ROOTS = ["", "session.", "response."];

const places: readonly (readonly [string, ReferencePlace])[] = [
  // OpenAI: responses, https://platform.openai.com/docs/api-reference/responses/create
  ...ROOTS.flatMap((root) => [
    [`${root}previous_response_id`, of("responses")] as const,
    [`${root}prompt_cache_diagnostics.comparison_response_id`, of("responses")] as const,
    [`${root}conversation`, of("conversations", { unless: /^(?:auto|none)$/ })] as const,
    [`${root}conversation.id`, of("conversations")] as const,
    [`${root}prompt.id`, of("prompts")] as const,
    [`${root}tools.vector_store_ids`, of("vector_stores")] as const,
    [`${root}tools.container`, of("containers")] as const,
    [`${root}tools.container.file_ids`, files] as const,
    [`${root}tools.environment.container_id`, of("containers")] as const,
    [`${root}tools.environment.file_ids`, files] as const,
    [`${root}tools.environment.skills.skill_id`, of("skills")] as const,
    [`${root}tools.input_image_mask.file_id`, files] as const,
    [`${root}tools.tunnel_id`, of("tunnels")] as const,
    [`${root}tools.collection_ids`, of("collections")] as const,
  ]),
  ["input.id", item],
  ...MESSAGES.flatMap((at) => [
    [`${at}.content.file_id`, files] as const,
    [`${at}.content.file.file_id`, files] as const,
    [`${at}.content.source.file_id`, files] as const,
    [`${at}.content.content.file_id`, files] as const,
    [`${at}.content.content.source.file_id`, files] as const,
    // A document of Anthropic's may be made of pictures.
    [`${at}.content.source.content.source.file_id`, files] as const,
    [`${at}.content.content.source.content.source.file_id`, files] as const,
    [`${at}.output.file_id`, files] as const,
    [`${at}.audio.id`, of("audio")] as const,
    [`${at}.content.*.source.s3_location.uri`, of("objects")] as const,
    [`${at}.content.tool_result.content.*.source.s3_location.uri`, of("objects")] as const,
  ]),
  // Files, wherever a body or a form names them itself: https://platform.openai.com/docs/api-reference/images/createEdit
  ...["file_id", "file_ids", "input_file_id", "training_file", "validation_file"].map(
    (name) => [name, files] as const,
  ),
  ["image.file_id", files],
  ["images.file_id", files],
  ["mask.file_id", files],
  ["document.file_id", files],
  ["vector_store_id", of("vector_stores")],
  ["agent_id", of("agents")],
  ["agent", of("agents")],
  ...["voice.id", "session.audio.output.voice.id", "response.audio.output.voice.id"].map(
    (at) => [at, of("voices", { unless: /^(?!voice_)/ })] as const,
  ),
  // A running call, which a WebSocket can join.
  ["call_id", of("calls")],
  // Anthropic: https://docs.claude.com/en/api/beta/messages/create
  ["container", of("containers")],
  ["container.id", of("containers")],
  ["container.skills.skill_id", of("skills", { unless: /^(?!skill_)/ })],
  ["user_profile_id", of("user_profiles")],
  ["diagnostics.previous_message_id", of("messages")],
  // Google: https://ai.google.dev/api/generate-content and https://cloud.google.com/vertex-ai/generative-ai/docs
  ...["", "generate_content_request.", "requests.", "setup.", "client_content."].flatMap((root) => [
    [`${root}cached_content`, of("cachedContents")] as const,
    ...["contents", "content", "system_instruction", "turns"].flatMap((at) => [
      [`${root}${at}.parts.file_data.file_uri`, googleFile] as const,
      [`${root}${at}.parts.function_response.parts.file_data.file_uri`, googleFile] as const,
    ]),
    [`${root}tools.file_search.file_search_store_names`, of("fileSearchStores")] as const,
    [`${root}tools.retrieval.vertex_ai_search.datastore`, of("dataStores")] as const,
    [`${root}tools.retrieval.vertex_ai_search.engine`, of("engines")] as const,
    [
      `${root}tools.retrieval.vertex_ai_search.data_store_specs.data_store`,
      of("dataStores"),
    ] as const,
    [`${root}tools.retrieval.vertex_rag_store.rag_corpora`, of("ragCorpora")] as const,
    [`${root}tools.retrieval.vertex_rag_store.rag_resources.rag_corpus`, of("ragCorpora")] as const,
    // Secrets of the operator's, sent to an address of the caller's.
    [`${root}tools.retrieval.external_api.endpoint`, of("externalApis")] as const,
    [`${root}tools.*.auth_config.api_key_config.api_key_secret`, of("secrets")] as const,
    [`${root}session_resumption.handle`, of("sessions")] as const,
  ]),
  ["extra_body.google.cached_content", of("cachedContents")],
  ["instances.*.gcs_uri", of("objects")],
  ["instances.*.*.gcs_uri", of("objects")],
  ["parameters.storage_uri", of("objects")],
  // Amazon's storage: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_S3Location.html
  ["*.s3_location.uri", of("objects")],
  ["*.*.s3_location.uri", of("objects")],
  ["*.*.*.s3_location.uri", of("objects")],
  // Azure's own data: https://learn.microsoft.com/en-us/azure/ai-services/openai/references/on-your-data
  ["data_sources.type", of("data_sources")],
  // Cohere: https://docs.cohere.com/v1/reference/chat
  ["conversation_id", of("conversations")],
  ["connectors.id", of("connectors", { unless: /^web-search$/ })],
  // OpenRouter, Cohere: settings that are kept under a name
  ["preset", of("presets")],
  ...["model", "models"].map((at) => [at, of("presets", { unless: /^(?!.*@preset\/)/i })] as const),
  // ElevenLabs: https://elevenlabs.io/docs/api-reference/text-to-speech/convert
  ["previous_request_ids", of("history")],
  ["next_request_ids", of("history")],
  [
    "pronunciation_dictionary_locators.pronunciation_dictionary_id",
    of("pronunciation-dictionaries"),
  ],
  // Cloudflare: https://developers.cloudflare.com/workers-ai/features/fine-tunes/loras
  // https://developers.cloudflare.com/workers-ai/features/batch-api: answers of before
  ["request_id", of("requests")],
  ["lora", of("finetunes", { unless: /^cf-public-/ })],
  // Replicate: files of the account, by their addresses
  ["input.*", of("files", { unless: /^(?![^?#]*api\.replicate\.com\/v1\/files\/)/i })],
];

const read = jsonPlaces(places);

/** Names that say nothing by themselves: their owners' do. */
const PLAIN_NAMES: ReadonlySet<string> = new Set(["id", "type", "uri"]);

/** Returns the name by which a text can be seen to have something at a place; null where another rule finds it. */
function tellingName(place: string): string | null {
  const names = place.split(".");
  const last = names.at(-1) ?? "";
  if (last === "*" || place === "input.id" || /^models?$/.test(last)) return null;
  return (PLAIN_NAMES.has(last) ? names.at(-2) : last)?.replaceAll("_", "_?") ?? null;
}

/** One of those names, or what could hide it: few texts have any, and only those are parsed. Names can be escaped. */
const names = new Set(places.map(([place]) => tellingName(place)).filter((name) => name !== null));
const MENTIONED = new RegExp(
  `"(?:${[...names].join("|")})"\\s*:|api\\.replicate\\.com|@preset|\\\\u(?:00[4-7]|017f|212a)|\\0`,
  "iu",
);
/** The path at which OpenAI's responses are made. */
const ITEM_PATH = /(?:^|\/)responses(?:\/|$)/;
/** The same of items that are looked up by their ids. */
const ITEMS = /"id"\s*:/i;

/** Amazon's prompts that are kept are named as models: `arn:aws:bedrock:…:prompt/ID`. */
const PROMPT_PATH = /:prompt(?:%2f|\/)([^/:]+)/i;

/** Lists the stored objects that a path itself names. */
export function storedInPath(path: string): StoredReference[] {
  const prompt = path.includes("prompt")
    ? PROMPT_PATH.exec(path.replaceAll(/%3a/gi, ":"))?.[1]
    : undefined;
  return prompt === undefined ? [] : [{ collection: "prompts", id: prompt }];
}

/**
 * Lists the objects stored at the provider to which a JSON text for a path refers; null for one that parsers may read
 * differently.
 */
export function storedReferences(text: string, path: string): StoredReference[] | null {
  const mayHoldItems = ITEM_PATH.test(path) && ITEMS.test(text);
  if (!mayHoldItems && !MENTIONED.test(text)) return [];
  const root = unambiguousJson(text);
  if (root === undefined) return null;
  const found: StoredReference[] = [];
  read(root, ({ collection, unless, holds }, value, owner) => {
    if (typeof value !== "string" && typeof value !== "number") return;
    const id = String(value);
    if (holds !== undefined && !mayHoldItems) return;
    if (id === "" || unless?.test(id) === true || holds?.(owner) === false) return;
    found.push({ collection, id: idIn(id, collection) });
  });
  return found;
}

/** Returns the id alone: some are named with their collection, or by an address. */
function idIn(value: string, collection: string): string {
  const at = value.lastIndexOf(`${collection}/`);
  return at === -1 ? value : value.slice(at + collection.length + 1);
}

const fields: ReadonlyMap<string, ReferencePlace> = new Map(
  places.flatMap(([place, about]) => (place.includes(".") ? [] : [[place, about]])),
);

/** Lists the objects stored at the provider to which the fields of a form, or the parameters of a query, refer. */
export function storedFields(pairs: Iterable<readonly [string, string]>): StoredReference[] {
  const found: StoredReference[] = [];
  for (const [name, id] of pairs) {
    const place = fields.get(name.toLowerCase().replace(/\[\d*\]$/, ""));
    if (place === undefined || id === "" || place.unless?.test(id) === true) continue;
    found.push({ collection: place.collection, id });
  }
  return found;
}
