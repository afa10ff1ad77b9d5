import type { MarkdownCase } from "./rendering-markdown-cases.ts";

const code = (language: string, ...lines: readonly string[]): string =>
  ["```" + language, ...lines, "```"].join("\n");

/** Code blocks as highlighters and generators of sites write them. */
export const codeCases: readonly MarkdownCase[] = [
  {
    name: "Pygments with numbers in a table (Sphinx, MkDocs)",
    html: '<div class="highlight-python notranslate"><div class="highlight"><table class="highlighttable"><tbody><tr><td class="linenos"><div class="linenodiv"><pre><span></span><span class="normal">1</span>\n<span class="normal">2</span></pre></div></td><td class="code"><div><pre><span></span><code><span class="k">def</span> f():\n    <span class="k">pass</span>\n</code></pre></div></td></tr></tbody></table></div></div>',
    markdown: code("python", "def f():", "    pass"),
  },
  {
    name: "Pygments with numbers in the lines",
    html: '<div class="highlight"><pre><span class="linenos">1</span>a\n<span class="lineno">2 </span>b\n</pre></div>',
    markdown: code("", "a", "b"),
  },
  {
    name: "Rouge in Jekyll, a table inside of code",
    html: '<figure class="highlight"><pre><code class="language-ruby" data-lang="ruby"><table class="rouge-table"><tbody><tr><td class="gutter gl"><pre class="lineno">1\n2\n</pre></td><td class="code"><pre><span class="n">a</span>\n  <span class="n">b</span>\n</pre></td></tr></tbody></table></code></pre></figure><p>c',
    markdown: `${code("ruby", "a", "  b")}\n\nc`,
  },
  {
    name: "Rouge with a gutter",
    html: '<div class="language-js highlighter-rouge"><div class="highlight"><table class="rouge-table"><tbody><tr><td class="rouge-gutter gl"><pre class="lineno">1\n</pre></td><td class="rouge-code"><pre>let a;\n</pre></td></tr></tbody></table></div></div>',
    markdown: code("js", "let a;"),
  },
  {
    name: "Chroma with a table (Hugo)",
    html: '<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd"><pre tabindex="0" class="chroma"><code><span class="lnt">1\n</span><span class="lnt">2\n</span></code></pre></td><td class="lntd"><pre class="chroma"><code class="language-go" data-lang="go"><span class="line"><span class="cl">a\n</span></span><span class="line"><span class="cl">b\n</span></span></code></pre></td></tr></table></div></div>',
    markdown: code("go", "a", "b"),
  },
  {
    name: "Chroma with numbers in the lines",
    html: '<pre class="chroma"><code class="language-go" data-lang="go"><span class="line"><span class="ln">1</span><span class="cl">a\n</span></span><span class="line"><span class="ln">2</span><span class="cl">\n</span></span><span class="line"><span class="ln">3</span><span class="cl">b\n</span></span></code></pre>',
    markdown: code("go", "a", "", "b"),
  },
  {
    name: "Hexo, with a break after each line",
    html: '<figure class="highlight js"><table><tr><td class="gutter"><pre><span class="line">1</span><br><span class="line">2</span><br></pre></td><td class="code"><pre><span class="line"><span class="keyword">let</span> a;</span><br><span class="line"></span><br><span class="line">b();</span><br></pre></td></tr></table></figure>',
    markdown: code("js", "let a;", "", "b();"),
  },
  {
    name: "a file on GitHub",
    html: '<table class="highlight tab-size js-file-line-container" data-tagsearch-lang="Python">\n <tbody><tr>\n  <td id="L1" class="blob-num js-line-number" data-line-number="1"></td>\n  <td id="LC1" class="blob-code blob-code-inner js-file-line"><span>if</span> a:</td>\n </tr>\n <tr>\n  <td class="blob-num">2</td>\n  <td class="blob-code">\n</td>\n </tr>\n <tr>\n  <td class="blob-num">3</td>\n  <td class="blob-code">  b()</td>\n </tr></tbody></table>c',
    markdown: `${code("python", "if a:", "", "  b()")}\n\nc`,
  },
  {
    name: "highlight.js with numbers",
    html: '<pre><code class="hljs typescript"><table class="hljs-ln"><tbody><tr><td class="hljs-ln-line hljs-ln-numbers" data-line-number="1"><div class="hljs-ln-n">1</div></td><td class="hljs-ln-line hljs-ln-code">a</td></tr><tr><td class="hljs-ln-line hljs-ln-numbers"></td><td class="hljs-ln-line hljs-ln-code">  b</td></tr></tbody></table></code></pre>',
    markdown: code("typescript", "a", "  b"),
  },
  {
    name: "Expressive Code",
    html: '<div class="expressive-code"><figure class="frame"><figcaption class="header"></figcaption><pre data-language="js"><code><div class="ec-line"><div class="gutter"><div class="ln" aria-hidden="true">1</div></div><div class="code"><span>a</span></div></div><div class="ec-line"><div class="gutter"><div class="ln">2</div></div><div class="code">\n</div></div><div class="ec-line"><div class="code"><span class="indent">  </span>b</div></div></code></pre><div class="copy"><button title="Copy to clipboard" data-code="a">Copy</button></div></figure></div>',
    markdown: code("js", "a", "", "  b"),
  },
  {
    name: "lines that only the style sheet makes (Shiki)",
    html: '<pre class="shiki" data-language="ts"><code><span class="line"><span>a</span></span><span class="line"></span><span class="line">  b</span></code></pre>',
    markdown: code("ts", "a", "", "  b"),
  },
  {
    name: "lines of Shiki with line breaks, and what VitePress writes beside them",
    html: '<div class="language-ts vp-adaptive-theme line-numbers-mode"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki"><code><span class="line">a</span>\n<span class="line"></span>\n<span class="line">b</span></code></pre><div class="line-numbers-wrapper" aria-hidden="true"><span class="line-number">1</span><br><span class="line-number">2</span><br></div></div>',
    markdown: code("ts", "a", "", "b"),
  },
  {
    name: "lines of Docusaurus",
    html: '<div class="language-bash codeBlockContainer"><pre class="prism-code language-bash"><code><span class="token-line" style="color:#393A34"><span class="token plain">a</span><br></span><span class="token-line"><span class="token plain" style="display:inline-block"></span><br></span><span class="token-line">b<br></span></code></pre><div class="buttonGroup"><button type="button" aria-label="Copy code to clipboard" title="Copy">Copy</button></div></div>',
    markdown: code("bash", "a", "", "b"),
  },
  {
    name: "lines of react-syntax-highlighter",
    html: '<pre><code class="language-java"><span style="display: flex;"><span class="linenumber react-syntax-highlighter-line-number" style="min-width: 2em;">1</span><span>a</span></span><span style="display: flex;"><span class="linenumber">2</span>b</span></code></pre>',
    markdown: code("java", "a", "b"),
  },
  {
    name: "lines as items of a list",
    html: '<pre class="prettyprint linenums"><ol class="linenums">\n<li class="L0"><span>a</span></li>\n<li class="L1"></li>\n<li class="L2">b</li>\n</ol></pre>',
    markdown: code("", "a", "", "b"),
  },
  {
    name: "a label and a button inside of the block",
    html: '<pre><div><span>python</span><button>Copy code</button></div><div><code class="hljs language-python">a\n</code></div></pre>',
    markdown: code("python", "a"),
  },
  {
    name: "code of pandoc, and of GitHub",
    html: '<div class="sourceCode" id="cb1"><pre class="sourceCode python"><code class="sourceCode python"><span id="cb1-1"><a href="#cb1-1" aria-hidden="true" tabindex="-1"></a>a</span>\n<span id="cb1-2">b</span></code></pre></div><div class="highlight highlight-source-shell notranslate"><pre>ls</pre><div class="zeroclipboard-container"><clipboard-copy aria-label="Copy" value="ls">x</clipboard-copy></div></div>',
    markdown: `${code("python", "a", "b")}\n\n${code("shell", "ls")}`,
  },
  {
    name: "a table that holds code is dissolved",
    html: "<table><tr><th>a<th>b<tr><td>c<td><pre>1\n3</pre></table>",
    markdown: `| a | b |\n| --- | --- |\n| c |\n\n${code("", "1", "3")}`,
  },
  {
    name: "numbers outside of a table are code",
    html: '<pre>1\n2\n</pre><pre class="line-numbers">3</pre>',
    markdown: `${code("", "1", "2")}\n\n${code("", "3")}`,
  },
  {
    name: "links from a heading to itself go",
    html: '<h2>A<a class="headerlink" href="#a" title="Permalink to this heading">¶</a></h2><dl><dt id="b"><code>f</code><a class="headerlink" href="#b">¶</a></dt></dl>',
    markdown: "## A\n\n`f`",
  },
];
