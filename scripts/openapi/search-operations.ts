import { below, type Operations, paged } from "./operation.ts";

const query = { messages: [{ role: "user", content: "How do I rotate the master key?" }] };

const instances: Operations = {
  "GET ": {
    results: "SearchInstance",
    summary: "List the search instances",
    query: [...paged, "search"],
  },
  "POST ": {
    result: "SearchInstance",
    summary: "Create a search instance",
    body: "Instance",
    example: { id: "docs" },
  },
  "GET /:id": { result: "SearchInstance", summary: "Read a search instance" },
  "PUT /:id": {
    result: "SearchInstance",
    summary: "Change a search instance",
    body: "InstanceChange",
    example: { chunk_size: 512 },
  },
  "DELETE /:id": { result: "SearchInstance", summary: "Delete a search instance and its items" },
  "GET /:id/stats": {
    result: "SearchInstanceStats",
    summary: "Count the items of an instance by status",
  },
  "POST /:id/search": {
    result: "SearchResult",
    summary: "Search: the chunks that fit best",
    body: "Search",
    example: { ...query, ai_search_options: { retrieval: { max_num_results: 5 } } },
  },
  "POST /:id/chat/completions": {
    result: "SearchCompletion",
    summary: "Search, and answer from the results",
    body: "SearchChat",
    example: { ...query, stream: false },
    answer: "completion",
  },
  "GET /:id/questions": {
    results: "SearchQuestion",
    summary: "List the questions, and how well search answered them",
    query: [...paged, "kind"],
  },
  "DELETE /:id/questions": {
    result: "QuestionsCleared",
    summary: "Delete the counted questions",
  },
  "POST /:id/clicks": {
    result: "ClickCounted",
    summary: "Tell that somebody chose a result",
    body: "QuestionClick",
    example: { query: "How do I rotate the master key?" },
  },
  "POST /:id/mcp": {
    answer: "events",
    summary: "Ask by the Model Context Protocol (Streamable HTTP): tools search and fetch",
    freeBody: "json",
    example: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  },
  "GET /:id/items": {
    results: "SearchItem",
    summary: "List the items",
    query: [...paged, "item_id", "key", "search", "source", "status", "sort_by", "metadata_filter"],
  },
  "POST /:id/items": {
    result: "SearchItem",
    summary: "Upload a file to be indexed",
    freeBody: "form",
  },
  "PUT /:id/items": {
    result: "SearchItem",
    summary: "Index an uploaded item again, by its key",
    body: "ItemPut",
    example: { key: "guide.md", next_action: "INDEX" },
  },
  "GET /:id/items/:item_id": { result: "SearchItem", summary: "Read an item" },
  "PATCH /:id/items/:item_id": {
    result: "SearchItem",
    summary: "Index an item again",
    body: "ItemSync",
    example: { next_action: "INDEX" },
  },
  "DELETE /:id/items/:item_id": { result: "KeyOnly", summary: "Delete an item" },
  "GET /:id/items/:item_id/chunks": {
    results: "SearchItemChunk",
    summary: "List an item's chunks",
    query: ["limit", "offset"],
  },
  "GET /:id/items/:item_id/logs": {
    results: "SearchItemLog",
    summary: "List the events of an item",
    query: ["limit", "cursor"],
  },
  "GET /:id/items/:item_id/download": {
    summary: "Download an item as it was uploaded",
    answer: "binary",
  },
  "GET /:id/jobs": { results: "SearchJob", summary: "List the jobs", query: [...paged] },
  "POST /:id/jobs": {
    result: "SearchJob",
    summary: "Start a job that indexes failed and changed items again",
    body: "Job",
    bodyOptional: true,
    example: { description: "after the release" },
  },
  "GET /:id/jobs/:job_id": { result: "SearchJob", summary: "Read a job" },
  "PATCH /:id/jobs/:job_id": {
    result: "SearchJob",
    summary: "Cancel a job",
    body: "JobCancel",
    example: { action: "cancel" },
  },
  "GET /:id/jobs/:job_id/logs": {
    results: "SearchJobLog",
    summary: "List the results of a job",
    query: [...paged],
  },
  "GET /:id/jobs/:job_id/events": { summary: "Follow a job until its end", answer: "events" },
};

/** Search: instances, items, jobs and namespaces. */
export const search: Operations = {
  ...below("/instances", instances),
  "GET /tokens": {
    results: "SearchTokenShown",
    summary: "List the credentials of buckets",
    query: [...paged, "search"],
  },
  "POST /tokens": {
    result: "SearchTokenShown",
    summary: "Store a credential for buckets; its key is never shown",
    body: "SearchToken",
    example: { name: "archive", cf_api_id: "AKIDEXAMPLE", cf_api_key: "a-secret-access-key" },
  },
  "GET /tokens/:token_id": {
    result: "SearchTokenShown",
    summary: "Read a credential, without its key",
  },
  "PUT /tokens/:token_id": {
    result: "SearchTokenShown",
    summary: "Replace a credential",
    body: "SearchToken",
    example: { name: "archive", cf_api_id: "AKIDEXAMPLE", cf_api_key: "another-access-key" },
  },
  "DELETE /tokens/:token_id": {
    result: "SearchTokenShown",
    summary: "Delete a credential that no instance uses",
  },
  "GET /namespaces": {
    results: "SearchNamespace",
    summary: "List the namespaces",
    query: [...paged, "search"],
  },
  "POST /namespaces": {
    result: "SearchNamespace",
    summary: "Create a namespace",
    body: "Namespace",
    example: { name: "team-a" },
  },
  "GET /namespaces/:name": { result: "SearchNamespace", summary: "Read a namespace" },
  "PUT /namespaces/:name": {
    result: "SearchNamespace",
    summary: "Change a namespace",
    body: "NamespaceChange",
    example: { description: "Documents of team A" },
  },
  "DELETE /namespaces/:name": { result: "SearchNamespace", summary: "Delete an empty namespace" },
  "POST /namespaces/:name/search": {
    result: "SearchAcrossResult",
    summary: "Search several instances of a namespace",
    body: "Search",
    example: { ...query, ai_search_options: { instance_ids: ["docs"] } },
  },
  "POST /namespaces/:name/chat/completions": {
    result: "SearchCompletion",
    summary: "Search several instances, and answer",
    body: "SearchChat",
    example: { ...query, ai_search_options: { instance_ids: ["docs"] } },
    answer: "completion",
  },
  ...below("/namespaces/:name/instances", instances),
};

/** The operations of a public endpoint, for callers without a token. */
export const publicSearch: Operations = {
  "POST /search": {
    result: "SearchResult",
    summary: "Search as a visitor of a page",
    body: "VisitorSearch",
    example: { query: "How do I rotate the master key?" },
    isPublic: true,
  },
  "POST /chat/completions": {
    result: "SearchCompletion",
    summary: "Search as a visitor of a page, and answer from the results",
    body: "VisitorChat",
    example: { ...query, stream: false },
    answer: "completion",
    isPublic: true,
  },
  "POST /clicks": {
    result: "ClickCounted",
    summary: "Tell that a visitor chose a result",
    body: "QuestionClick",
    example: { query: "How do I rotate the master key?" },
    isPublic: true,
  },
  "GET /search.js": {
    summary: "Load the script of the search box",
    answer: "text",
    isPublic: true,
  },
};
