/**
 * A page that tries to reach `origin` (an `http://` address) in every way that a page has: the 21 kinds of
 * requests, each with its own path, and STUN over UDP.
 */
export function hostilePage(origin: string): string {
  const at = (kind: string): string => `${origin}/leak-${kind}`;
  const socket = origin.replace("http", "ws");
  return `<!doctype html>
<html><head>
<link rel="stylesheet" href="${at("css")}">
<link rel="icon" href="${at("favicon")}">
<link rel="preload" as="image" href="${at("preload")}">
<link rel="prefetch" href="${at("prefetch")}">
<link rel="dns-prefetch" href="${origin}">
<link rel="preconnect" href="${origin}">
<link rel="manifest" href="${at("manifest")}">
<style>@import url("${at("import")}"); body { background: url("${at("background")}"); }
@font-face { font-family: x; src: url("${at("font")}"); } p { font-family: x; }</style>
<script src="${at("script")}"></script>
</head><body><p>text</p>
<img src="${at("img")}">
<video src="${at("video")}"></video>
<iframe src="${at("iframe")}"></iframe>
<iframe srcdoc="<img src='${at("srcdoc")}'>"></iframe>
<iframe src="file:///etc/passwd"></iframe>
<object data="${at("object")}"></object>
<embed src="${at("embed")}">
<a id="download" download href="${at("download")}">d</a>
<a id="ping" ping="${at("ping")}" href="#x">p</a>
<form id="form" method="post" target="_blank" action="${at("form")}"><input name="a"></form>
<script type="module">import("${at("module")}").catch(() => 0);</script>
<script>
const attempt = (run) => { try { Promise.resolve(run()).catch(() => 0); } catch {} };
attempt(() => fetch("${at("fetch")}", { mode: "no-cors" }));
attempt(() => { const x = new XMLHttpRequest(); x.open("GET", "${at("xhr")}"); x.send(); });
attempt(() => navigator.sendBeacon("${at("beacon")}", "x"));
attempt(() => new EventSource("${at("eventsource")}"));
attempt(() => new WebSocket("${socket}/leak-websocket"));
attempt(() => window.open("${at("popup")}"));
attempt(() => document.getElementById("form").submit());
attempt(() => document.getElementById("download").click());
attempt(() => document.getElementById("ping").click());
const source = "fetch('${at("worker-fetch")}',{mode:'no-cors'}).catch(()=>0);" +
  "try{importScripts('${at("worker-import")}')}catch{}; try{new WebSocket('${socket}/leak-worker-websocket')}catch{}";
const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
attempt(() => new Worker(blob));
attempt(() => new Worker("${at("worker")}"));
attempt(() => new SharedWorker("data:text/javascript," + encodeURIComponent("onconnect=()=>0;" + source)));
attempt(() => navigator.serviceWorker.register("/sw.js"));
attempt(() => {
  const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:${new URL(origin).host}" }] });
  peer.createDataChannel("x");
  return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
});
attempt(() => new WebTransport("${origin.replace("http:", "https:")}/leak-webtransport").ready);
</script>
<script type="speculationrules">{"prerender":[{"urls":["${at("prerender")}"]}],"prefetch":[{"urls":["${at("speculation")}"]}]}</script>
</body></html>`;
}

/** The script of a service worker that tries to reach \`origin\` too. */
export function hostileServiceWorker(origin: string): string {
  return `fetch("${origin}/leak-service-worker",{mode:"no-cors"}).catch(()=>0);
try { new WebSocket("${origin.replace("http", "ws")}/leak-service-worker-websocket"); } catch {}
self.addEventListener("install", () => self.skipWaiting());`;
}
