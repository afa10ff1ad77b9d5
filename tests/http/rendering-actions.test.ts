import { describe, expect } from "vitest";
import { post, withBrowser } from "./render-client.ts";

async function render(name: string, body: object) {
  const answer = await post(`browser-rendering/${name}`, body);
  return { ...answer.body, status: answer.status };
}

describe("what is done with a page before its capture", () => {
  const html =
    "<title>T</title><input id=i><button id=b style='margin-top:5000px' onclick='go()'>Go</button>" +
    "<p id=o></p><script>const o = document.querySelector('#o'), i = document.querySelector('#i');" +
    "function go() { setTimeout(() => o.insertAdjacentHTML('beforeend', '<b id=done>' + i.value + ' ' + event_.isTrusted + '</b>'), 50) }" +
    "let event_; addEventListener('click', (event) => (event_ = event), true);" +
    "i.addEventListener('keydown', (event) => { if (event.key === 'Enter') o.append('[enter]') });" +
    "addEventListener('scroll', () => (o.dataset.scrolled = 1))</script>";

  withBrowser("clicks, writes, presses, scrolls and waits, as a user does", async () => {
    const actions = [
      { type: "write", selector: "#i", text: "höllo" },
      { type: "press", key: "Backspace" },
      { type: "press", key: "Enter" },
      { type: "click", selector: "#b" },
      { type: "wait", selector: "#done" },
      { type: "scroll", direction: "up" },
      { type: "wait", milliseconds: 10 },
    ];
    const { result } = await render("scrape", { html, actions, elements: [{ selector: "#o" }] });
    expect(result).toMatchObject([
      {
        results: [
          {
            text: "[enter]höll true",
            attributes: [
              { name: "id", value: "o" },
              { name: "data-scrolled", value: "1" },
            ],
          },
        ],
      },
    ]);
  });

  withBrowser("says which action came to nothing in time, or goes on at the best", async () => {
    const actions = [
      { type: "press", key: "Tab" },
      { type: "click", selector: "#never", timeout: 300 },
    ];
    const body = { html: "<p>a</p>", actions };
    const strict = await render("content", body);
    expect([strict.status, strict.errors[0]?.code]).toEqual([422, 6002]);
    expect(strict.errors[0]?.message).toContain("actions.1");
    const best = await render("content", { ...body, bestAttempt: true });
    expect(best.result).toContain("<p>a</p>");
  });

  withBrowser("waits until an expression of the page is true", async () => {
    const late = "<p>a</p><script>setTimeout(() => (globalThis.ready = { at: 1 }), 150)</script>";
    const wait = async (expression: string, timeout?: number) =>
      render("content", { html: late, waitForFunction: { expression, timeout } });
    for (const expression of ["ready.at === 1", "globalThis.ready", "Promise.resolve(ready)"])
      expect((await wait(expression)).status).toBe(200);
    const never = ["null", "0n", "NaN", "new Promise(() => {})", "for (;;);", "JSON.parse('{')"];
    for (const expression of never) {
      const answer = await wait(expression, 300);
      expect([expression, answer.status, answer.errors[0]?.code]).toEqual([expression, 422, 6002]);
    }
    // Longer than one run may take, so that Chromium ends the first.
    expect((await wait("for (;;);", 1500)).errors[0]?.code).toBe(6002);
    const broken = await wait("a b");
    expect([broken.status, broken.errors[0]?.message]).toEqual([
      400,
      "waitForFunction.expression: SyntaxError: Unexpected identifier 'b'",
    ]);
  });

  withBrowser("takes no field of a page for a member of it", async () => {
    const members =
      "body head fonts images URL baseURI documentElement scrollingElement querySelector querySelectorAll createElement createTreeWalker";
    const named = members.split(" ").map((name) => `<img name="${name}" alt="">`);
    const fields = ["scrollBy", "clientHeight", "append", "getBoundingClientRect", "scrollHeight"];
    const form = `<form id=f style="height:50px;overflow:auto">${fields.map((name) => `<input name="${name}">`).join("")}<p style="height:900px">漢</p></form>`;
    const markup = `${named.join("")}${form}<a href="https://example.com/a">a</a><script>document.querySelector</script>`;
    const more = {
      html: markup,
      addStyleTag: [{ content: "p {}" }],
      addScriptTag: [{ content: "0" }],
      actions: [
        { type: "scroll", selector: "#f" },
        { type: "scroll", direction: "down" },
      ],
    };
    const whole = { screenshotOptions: { fullPage: true } };
    for (const [name, options] of [
      ["content", {}],
      ["links", {}],
      ["markdown", {}],
      ["accessibilityTree", {}],
      ["pdf", {}],
      ["screenshot", whole],
    ] as const) {
      const { status } = await render(name, { ...more, ...options });
      expect([name, status]).toEqual([name, 200]);
    }
    const { result, meta } = await render("content", more);
    expect([result, meta?.finalUrl]).toEqual([
      expect.stringContaining("<style>p {}</style>"),
      undefined,
    ]);
  });

  withBrowser("keeps the parts that selectors name, and leaves out others", async () => {
    const parts =
      "<title>T</title><nav>n</nav><main><p class=ad>a</p><p data-x>b<i class=ad>c</i></p></main><p>d</p><script></script>";
    const markdown = async (fields: object) =>
      (await render("markdown", { html: parts, ...fields })).result;
    const top = '---\ntitle: "T"\n---\n\n';
    expect(await markdown({ excludeTags: ["nav", ".ad"] })).toBe(`${top}b\n\nd`);
    expect(await markdown({ includeTags: ["main", "main p"] })).toBe(`${top}a\n\nb*c*`);
    expect(await markdown({ includeTags: ["[data-x]"], excludeTags: [".ad"] })).toBe(`${top}b`);
    const content = { html: parts, includeTags: ["main p", "nav"], excludeTags: [".ad"] };
    expect((await render("content", content)).result).toBe(
      '<html><head><title>T</title></head><body><nav>n</nav><p data-x="">b</p></body></html>',
    );
    expect((await render("content", { html: parts, includeTags: ["[["] })).status).toBe(400);
  });
});
