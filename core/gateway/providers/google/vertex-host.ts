/** Vertex AI serves each region from its own host; "global" has none, and "us" and "eu" are no regions. */
export function vertexHost(rest: string): string {
  const place = /(?:^|\/)locations\/([a-z]+-[a-z]+\d+|us|eu)\//.exec(rest)?.[1];
  if (place === undefined) return "https://aiplatform.googleapis.com";
  return place.length === 2
    ? `https://aiplatform.${place}.rep.googleapis.com`
    : `https://${place}-aiplatform.googleapis.com`;
}
