/** One conversion that is fixed to the letter; addresses are relative to `https://example.com/dir/page`. */
export interface MarkdownCase {
  readonly name: string;
  readonly html: string;
  readonly markdown: string;
}

/** What HTML becomes in Markdown. */
export const markdownCases: readonly MarkdownCase[] = [
  { name: "text stands alone", html: "<div>Hello World</div>", markdown: "Hello World" },
  {
    name: "white space collapses, nbsp stays",
    html: "<p> a \n\t b&nbsp;&nbsp;c </p>",
    markdown: "a b\u00a0\u00a0c",
  },
  {
    name: "headings",
    html: "<h1>A <b>b</b></h1><h6>C #</h6>",
    markdown: "# A **b**\n\n###### C \\#",
  },
  {
    name: "a break splits a line, not a heading",
    html: "<p>a<br>b<h2>c<br>d</h2>",
    markdown: "a  \nb\n\n## c d",
  },
  { name: "spaces move out of emphasis", html: "a<b> b </b>c", markdown: "a **b** c" },
  { name: "neighbours of one kind are joined", html: "<b>a</b><b>b</b>", markdown: "**ab**" },
  { name: "neighbours of two kinds stay apart", html: "<b>a</b><i>b</i>", markdown: "**a**_b_" },
  { name: "emphasis inside a word", html: "a<i>b</i>c", markdown: "a*b*c" },
  {
    name: "bold and italic inside a word",
    html: "a<i><b>b</b></i>c a<b><i>b</i></b> <i><b>d</b></i>",
    markdown: "a***b***c a***b*** _**d**_",
  },
  { name: "nothing is emphasised without text", html: "a<b> </b>b<i></i>", markdown: "a b" },
  {
    name: "emphasis where CommonMark forbids its delimiters is a tag",
    html: "x<b>.</b>x x<i>.</i>x x<s>.</s>x 「<b>「は」</b>と",
    markdown: "x<b>.</b>x x<i>.</i>x x<s>.</s>x 「<b>「は」</b>と",
  },
  { name: "strikethrough", html: "<del>a</del> <s>b</s>", markdown: "~~a~~ ~~b~~" },
  {
    name: "emphasis goes on in the next block",
    html: "<b><p>a</p><p>b</p></b>",
    markdown: "**a**\n\n**b**",
  },
  {
    name: "special characters are text",
    html: "<p>*a* _b_ [c] `d` \\ ~~e~~",
    markdown: "\\*a\\* \\_b\\_ \\[c\\] \\`d\\` \\\\ \\~\\~e\\~\\~",
  },
  {
    name: "harmless characters stay readable",
    html: "<p>snake_case, a < b, AT&T, #1, ~5, 3.5",
    markdown: "snake_case, a < b, AT&T, #1, ~5, 3.5",
  },
  {
    name: "a written reference stays written",
    html: "<p>&amp;lt; &amp;amp;",
    markdown: "\\&lt; \\&amp;",
  },
  { name: "a written tag stays text", html: "<p>&lt;b&gt; &lt;/b&gt;", markdown: "\\<b> \\</b>" },
  {
    name: "line starts are no blocks",
    html: "<p># a<p>- b<p>1. c<p>&gt; d<p>+ e<p>===<p>2) f",
    markdown: "\\# a\n\n\\- b\n\n1\\. c\n\n\\> d\n\n\\+ e\n\n\\===\n\n2\\) f",
  },
  {
    name: "lists nest",
    html: "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    markdown: "- a\n  - b\n- c",
  },
  {
    name: "ordered lists keep their numbers",
    html: "<ol start=9><li>a<li>b<li value=20>c</ol>",
    markdown: "9. a\n10. b\n20. c",
  },
  {
    name: "two lists in a row stay two",
    html: "<ul><li>a</ul><ul><li>b</ul>",
    markdown: "- a\n\n* b",
  },
  {
    name: "task lists",
    html: "<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>",
    markdown: "- [x] a\n- [ ] b",
  },
  {
    name: "items hold blocks",
    html: "<ol><li><p>a</p><p>b</p><pre>c\nd</pre></ol>",
    markdown: "1. a\n\n   b\n\n   ```\n   c\n   d\n   ```",
  },
  { name: "an empty item is kept", html: "<ul><li></li><li>a</li></ul>", markdown: "-\n- a" },
  {
    name: "quotes nest and stay apart",
    html: "<blockquote>a<blockquote>b</blockquote>c</blockquote><blockquote>d</blockquote>",
    markdown: "> a\n>\n> > b\n>\n> c\n\n> d",
  },
  {
    name: "code spans outgrow their backticks",
    html: "<code>a`b</code> <code>``</code>",
    markdown: "``a`b`` ``` `` ```",
  },
  {
    name: "code spans side by side become one",
    html: "<code>a</code><code>b</code>",
    markdown: "`ab`",
  },
  { name: "nothing is escaped in code", html: "<code>*a* &lt;b&gt;</code>", markdown: "`*a* <b>`" },
  {
    name: "fences outgrow their backticks and name the language",
    html: '<pre class="x lang-ts"><code>\na\n```\n</code></pre>',
    markdown: "````ts\na\n```\n````",
  },
  {
    name: "the language of the code element counts too",
    html: '<pre><code class="language-js">1</code></pre>',
    markdown: "```js\n1\n```",
  },
  { name: "rules", html: "<p>a<hr><p>b", markdown: "a\n\n---\n\nb" },
  { name: "a rule at the start is no frontmatter", html: "<hr><p>b", markdown: "___\n\nb" },
  {
    name: "links are absolute",
    html: '<a href="/x?a=1&amp;b=2">a</a> <a href="y">b</a> <a href="#z">c</a>',
    markdown:
      "[a](https://example.com/x?a=1&b=2) [b](https://example.com/dir/y) [c](https://example.com/dir/page#z)",
  },
  {
    name: "base counts",
    html: '<base href="/other/"><a href="x">a</a>',
    markdown: "[a](https://example.com/other/x)",
  },
  {
    name: "brackets in addresses are encoded",
    html: '<a href="a (1) b">x]</a>',
    markdown: "[x\\]](https://example.com/dir/a%20%281%29%20b)",
  },
  {
    name: "script addresses are not links",
    html: '<a href="java&#10;script:alert(1)">a</a> <a>b</a>',
    markdown: "a b",
  },
  {
    name: "a heading in a link is lifted",
    html: '<a href="/x"><h1>T</h1></a><p>d',
    markdown: "# [T](https://example.com/x)\n\nd",
  },
  {
    name: "pictures",
    html: '<img src="i.png" alt="a [b]" title="t">',
    markdown: '![a \\[b\\]](https://example.com/dir/i.png "t")',
  },
  {
    name: "lazy and responsive pictures",
    html: '<img src="data:image/gif;base64,R0" data-src="/a.png"> <img srcset="/s.png 1x, /l.png 2x">',
    markdown: "![](https://example.com/a.png) ![](https://example.com/l.png)",
  },
  {
    name: "a picture without an address leaves its text",
    html: '<img alt="chart" src="data:image/png;base64,AA">',
    markdown: "chart",
  },
  {
    name: "pictures in links",
    html: '<a href="/x"><img src="/i.png" alt="i"></a>',
    markdown: "[![i](https://example.com/i.png)](https://example.com/x)",
  },
  {
    name: "tables",
    html: "<table><thead><tr><th>A<th>B</thead><tbody><tr><td>1|2<td>x<br>y</table>",
    markdown: "| A | B |\n| --- | --- |\n| 1\\|2 | x<br>y |",
  },
  {
    name: "a cell outside of any row, ended by a row",
    html: "<table><td>a<tr><td>b<caption>c<td>d</table>",
    markdown: "c\n\n| a |  |\n| --- | --- |\n| b | d |",
  },
  {
    name: "tables without a head",
    html: "<table><tr><td>a<td>b<tr><td>c<td>d</table>",
    markdown: "| a | b |\n| --- | --- |\n| c | d |",
  },
  {
    name: "cells that span",
    html: "<table><tr><th>A<th>B<tr><td colspan=2>s<tr><td rowspan=2>r<td>1<tr><td>2</table>",
    markdown: "| A | B |\n| --- | --- |\n| s |  |\n| r | 1 |\n|  | 2 |",
  },
  {
    name: "a table inside another one makes that one layout",
    html: "<table><tr><td>o<td><table><tr><td>a<td>b</table>t</table>",
    markdown: "o\n\n| a | b |\n| --- | --- |\n\nt",
  },
  {
    name: "blocks in cells",
    html: "<table><tr><td><p>a</p><ul><li>b</ul><td><p>c</p>d</table>",
    markdown: "| a<br>- b | c<br>d |\n| --- | --- |",
  },
  {
    name: "a table of one cell is what is in that",
    html: "<table><tr><td><h2>a|b</h2><p>c</p><pre>d\n|</pre><td> </table>",
    markdown: "## a|b\n\nc\n\n```\nd\n|\n```",
  },
  {
    name: "a table around one and text",
    html: "<table><tr><td><h2>a</h2><table><tr><td>b<td>c</table></table>",
    markdown: "## a\n\n| b | c |\n| --- | --- |",
  },
  {
    name: "a table around one, beside a cell of text",
    html: "<table><tr><td>Name<td>Info <p>x|y</p><table><tr><td>b<td>c</table></table>",
    markdown: "Name\n\nInfo\n\nx|y\n\n| b | c |\n| --- | --- |",
  },
  {
    name: "what is not text is left out",
    html: "<script>a</script><style>b</style><noscript>c</noscript><svg><text>d</text></svg><template>e</template><iframe>f</iframe>g<svg/>h",
    markdown: "gh",
  },
  {
    name: "unclosed elements",
    html: "<ul><li>a<li><b>b<li>c</ul><p>d<p>e",
    markdown: "- a\n- **b**\n- c\n\nd\n\ne",
  },
  {
    name: "right-to-left and astral text",
    html: "<p>שלום <b>👩‍🚀</b> <i>é</i>",
    markdown: "שלום **👩‍🚀** _é_",
  },
  {
    name: "an exclamation mark before a link makes no picture of it",
    html: 'Sale!<a href="/m">More</a>, now! <a href="/m">More</a>, so!<b><a href="/m">more</a></b>x',
    markdown:
      "Sale\\![More](https://example.com/m), now! [More](https://example.com/m), so!<b>[more](https://example.com/m)</b>x",
  },
  {
    name: "a written asterisk before bold text",
    html: "<p>*<b>Required</b> <p>a*<i>b</i> <p>_<i>c</i>",
    markdown: "\\***Required**\n\na\\*_b_\n\n\\__c_",
  },
  {
    name: "text that stands higher or lower",
    html: "x<sup>2</sup> H<sub>2</sub>O<sup></sup> <sup><a href='#n'>[1]</a></sup>",
    markdown: "x<sup>2</sup> H<sub>2</sub>O [\\[1\\]](https://example.com/dir/page#n)",
  },
  {
    name: "formulas that bring their TeX",
    html: '<p>So <span class="katex"><span class="katex-mathml"><math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">x^2 \\le 1</annotation></semantics></math></span><span class="katex-html" aria-hidden="true"><span>x</span><span>2</span></span></span>.',
    markdown: "So $x^2 \\le 1$.",
  },
  {
    name: "formulas of a line of their own, with their TeX in an attribute, and without any TeX",
    html: '<math display="block" alttext="\\frac{a}{b}"><mfrac><mi>a</mi><mi>b</mi></mfrac></math> <math><mi>c</mi></math>',
    markdown: "$$\\frac{a}{b}$$ $c$",
  },
  {
    name: "a tag that the document ends in",
    html: "<p>a<p",
    markdown: "a",
  },
  { name: "a closing tag that the document ends in", html: "<p>a</p", markdown: "a" },
  { name: "a bracket that the document ends in", html: "<p>a <", markdown: "a \\<" },
  {
    name: "what nobody sees is left out",
    html: '<body style="visibility:hidden">a<p hidden>b<br>c</p><p style="color:red; Display : none">d<img src=x><i>e</i></p><div style="visibility:hidden">f</div><dialog>g</dialog><dialog open>h</dialog><p hidden="until-found">i</p><details><summary>j</summary>k</details>',
    markdown: "a\n\nh\n\ni\n\nj\n\nk",
  },
  {
    name: "shadow trees that the document declares",
    html: "<x-card><template shadowrootmode=open><p>a</p></template>b</x-card><template>c</template>",
    markdown: "a\n\nb",
  },
  {
    name: "frames are links, unless nobody sees them",
    html: '<iframe src="/v" title="A film">x</iframe> <iframe src="/ad/"></iframe><iframe title="t" src="about:blank"></iframe><iframe src="/count" width="0" height="0"></iframe>',
    markdown: "[A film](https://example.com/v) [example.com](https://example.com/ad/)",
  },
  {
    name: "lazy pictures with a placeholder of their own",
    html: '<img src="spacer.gif" data-src="/a.png"><img src="low.jpg" data-srcset="/s.png 1x, /l.png 2x"><img src="b.png" data-src="{&quot;a&quot;: 1}">',
    markdown:
      "![](https://example.com/a.png)![](https://example.com/l.png)![](https://example.com/dir/b.png)",
  },
  {
    name: "columns keep their alignment",
    html: '<table><tr><th align=right>A<th style="text-align: center">B<th>C<th>D<tr><td>1<td>2<td align=left>3<td>4<tr><td>5<td>6<td>7<td align=right>8</table>',
    markdown:
      "| A | B | C | D |\n| ---: | :---: | :--- | --- |\n| 1 | 2 | 3 | 4 |\n| 5 | 6 | 7 | 8 |",
  },
  {
    name: "the language of wrapped code",
    html: '<div class="highlight highlight-source-ts"><pre>a</pre></div><div class="language-js highlighter-rouge"><div class="highlight"><pre class="highlight"><code>b</code></pre></div></div><pre data-lang=Go>c</pre><div class="lang-py"><section></section></div><pre>d</pre><pre><code class="language-föö">e</code></pre>',
    markdown: "```ts\na\n```\n\n```js\nb\n```\n\n```go\nc\n```\n\n```\nd\n```\n\n```föö\ne\n```",
  },
];
