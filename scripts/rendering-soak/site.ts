import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A website with pages for people, and some that no server should have to meet. */
export interface SoakSite {
  /** Its address, without a slash at the end. */
  readonly url: string;
  close(): void;
}

const HTML = { "content-type": "text/html; charset=utf-8" };
const PARAGRAPH = "<p>The bridge was built in the winter, by hand, and it stands to this day. ";

function article(name: string): string {
  const links = Array.from({ length: 8 }, (_, n) => `<a href="/crawl/${name}-${n}">${n}</a>`);
  return `<!doctype html><title>${name}</title><link rel=stylesheet href=/style.css><h1>${name}</h1>
<img src=/picture.svg alt=picture><table><tr><th>a<th>b<tr><td>1<td>2</table>${PARAGRAPH.repeat(60)}${links.join(" ")}
<script>document.body.append("ran")</script>`;
}

/** Sends a piece of a page again and again, and never the end. */
function drip(response: ServerResponse): void {
  response.writeHead(200, HTML);
  response.write("<title>Drip</title><p>first");
  const timer = setInterval(() => response.write("<p>more"), 100);
  response.on("close", () => clearInterval(timer));
}

const answers: Readonly<Record<string, (response: ServerResponse, url: string) => void>> = {
  "/style.css": (response) =>
    response.writeHead(200, { "content-type": "text/css" }).end("p { color: #333 }"),
  "/picture.svg": (response) =>
    response
      .writeHead(200, { "content-type": "image/svg+xml" })
      .end('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle r="20"/></svg>'),
  "/robots.txt": (response) => response.writeHead(404).end(),
  "/sitemap.xml": (response) => response.writeHead(404).end(),
  "/silent": () => undefined,
  "/drip": drip,
  "/loop": (response) => response.writeHead(302, { location: "/loop" }).end(),
  "/reset": (response) => response.destroy(),
  "/error": (response) => response.writeHead(500, HTML).end(),
  "/download": (response) =>
    response
      .writeHead(200, {
        "content-type": "application/octet-stream",
        "content-disposition": "attachment",
      })
      .end("x".repeat(100_000)),
  "/reload": (response) =>
    response.writeHead(200, HTML).end("<p>again<script>location.reload()</script>"),
  "/huge": (response) => response.writeHead(200, HTML).end("<div><b>huge</b> ".repeat(400_000)),
};

/** Starts it on loopback. */
export async function startSite(): Promise<SoakSite> {
  const server: Server = createServer((request, response) => {
    const url = request.url ?? "/";
    const answer = answers[url.split("?")[0] ?? ""];
    if (answer !== undefined) return answer(response, url);
    response.writeHead(200, HTML).end(article(url.slice(1).replaceAll(/[^\w-]/g, "")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
