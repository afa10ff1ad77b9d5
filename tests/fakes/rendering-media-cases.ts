import type { MarkdownCase } from "./rendering-markdown-cases.ts";

/** Pictures, films, links and lists as pages have them. */
export const mediaCases: readonly MarkdownCase[] = [
  {
    name: "a link around blocks is one link",
    html: '<a href="/x"><h3>T</h3><p>d</p></a>e <div>a <a href="/y"><div><img src="i.png"></div><div>b</div></a> c</div>',
    markdown:
      "### [T d](https://example.com/x)\n\ne\n\na\n\n[![](https://example.com/dir/i.png)  \nb](https://example.com/y)\n\nc",
  },
  {
    name: "a heading that its link goes on below is a paragraph when that is long",
    html: `<a href="/x"><h3>T</h3><p>${"word ".repeat(100)}</p></a>`,
    markdown: `[T  \n${"word ".repeat(100).trim()}](https://example.com/x)`,
  },
  {
    name: "a link that is never closed does not join a whole page",
    html: `<a href="/x">${"<div>a</div>".repeat(30)}`,
    markdown: `[${"a  \n".repeat(20)}a](https://example.com/x)${"\n\n[a](https://example.com/x)".repeat(9)}`,
  },
  {
    name: "a link around a list is one for each item",
    html: '<a href="/x"><ul><li>a<li>b</ul></a>',
    markdown: "- [a](https://example.com/x)\n- [b](https://example.com/x)",
  },
  {
    name: "a link of an icon has its label",
    html: '<a href="/a" aria-label="Basket"><svg><title>b</title></svg></a> <a href="/b"><svg><title>Home</title><path d=""/></svg></a> <a href="/c"></a><a href="/d" title="T">d</a>',
    markdown:
      '[Basket](https://example.com/a) [Home](https://example.com/b) [d](https://example.com/d "T")',
  },
  {
    name: "lazy pictures by other scripts",
    html: '<img src="data:image/gif;base64,R0" data-lazy="/a.png"><img src="blank.gif" data-echo="/b.png"><img data-lazy-srcset="/s.png 1x, /c.png 2x">',
    markdown:
      "![](https://example.com/a.png)![](https://example.com/b.png)![](https://example.com/c.png)",
  },
  {
    name: "a picture whose sources alone have an address",
    html: '<picture><source srcset="/s.webp 100w, /l.webp 900w"><source srcset="/x.jpg"><img alt="A" src="data:image/gif;base64,R0"></picture><picture><source srcset="/y.webp"><img src="/y.jpg"></picture><img alt="none">',
    markdown: "![A](https://example.com/l.webp)![](https://example.com/y.jpg)none",
  },
  {
    name: "a picture for readers without scripts",
    html: '<p><img src="data:image/gif;base64,R0" class="lazy"><noscript><img src="/a.jpg" alt="A"><b>Turn scripts on</b></noscript></p><p><img data-src="/b.jpg"><noscript><img src="/b.jpg"></noscript><noscript><img src="https://count.example/p?id=1"></noscript>c',
    markdown: "![A](https://example.com/a.jpg)\n\n![](https://example.com/b.jpg)c",
  },
  {
    name: "a picture of noscript in the place of another one's text",
    html: '<p>a <img src="data:image/gif;base64,R0" alt="A"><noscript><img src="/a.jpg" alt="A"></noscript> b <img src="data:image/gif;base64,R0" alt="B"> c<noscript><img src="/b.jpg" alt="B"></noscript><p><img src="data:x" alt="C"><code>d</code><img src="data:x" alt="E">',
    markdown: "a ![A](https://example.com/a.jpg) b B c![B](https://example.com/b.jpg)\n\nC`d`E",
  },
  {
    name: "a lazy picture after its copy in noscript is that copy",
    html: '<p><noscript><img src="/a.jpg" alt="A"></noscript><img class="lazy" alt="A"> b</p><noscript><img src="/c.jpg" alt="C"></noscript><div><img src="data:," data-src="/c.jpg" alt="C"></div><noscript><img src="/d.jpg" alt="D"></noscript><img alt="E"><img alt="D">',
    markdown:
      "![A](https://example.com/a.jpg) b\n\n![C](https://example.com/c.jpg)\n\n![D](https://example.com/d.jpg)ED",
  },
  {
    name: "films and sounds are links",
    html: '<video poster="p.png" title="A film"><source src="/f.webm"><source src="/f.mp4"><p>Get another browser</p></video> <audio controls src="/s/song.mp3"></audio><video src="blob:x"></video><video hidden src="/h.mp4"></video>',
    markdown: "[A film](https://example.com/f.webm) [song.mp3](https://example.com/s/song.mp3)",
  },
  {
    name: "a list straight in a list belongs to the item before it",
    html: "<ul><li>a</li><ul><li>b</li><ol><li>c</li></ol></ul><li>d</li></ul><ul><ul><li>e</li></ul></ul>",
    markdown: "- a\n  - b\n    1. c\n- d\n\n* e",
  },
  {
    name: "terms and what they mean",
    html: "<dl><dt>a</dt><dd>b</dd><dd><p>c</p><ul><li>d</li></ul></dd><div><dt>e<dt>f<dd>g</div></dl>h",
    markdown: "a\n: b\n: c\n\n  - d\n\ne\n\nf\n: g\n\nh",
  },
];
