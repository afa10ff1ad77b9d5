/** The style of the search box. Pages set the custom properties; `color-scheme` follows the page or the attribute `theme`. */
export const STYLE = `
:host {
  --_accent: var(--causey-search-accent, light-dark(#1a4fd0, #9dbbff));
  --_text: var(--causey-search-text, light-dark(#1b1f27, #e8ebf2));
  --_quiet: var(--causey-search-quiet, light-dark(#545c6b, #aab2c2));
  --_back: var(--causey-search-background, light-dark(#ffffff, #171a21));
  --_line: var(--causey-search-border, light-dark(#7c8596, #6b7486));
  --_chosen: var(--causey-search-chosen, light-dark(#e6edff, #26304a));
  --_mark: var(--causey-search-mark, light-dark(#ffe9a8, #5a4a12));
  display: block;
  position: relative;
  color-scheme: light dark;
  color: var(--_text);
  font: var(--causey-search-font, inherit);
  text-align: start;
}
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
* { box-sizing: border-box; }
form { display: flex; gap: .5rem; margin: 0; }
input, button {
  font: inherit;
  color: inherit;
  background: var(--_back);
  border: 1px solid var(--_line);
  border-radius: var(--causey-search-radius, .5rem);
  padding: .5rem .75rem;
  min-block-size: 2.75rem;
}
input { flex: 1; min-inline-size: 0; }
input::placeholder { color: var(--_quiet); opacity: 1; }
button { cursor: pointer; font-weight: 600; color: var(--_accent); }
:is(input, button, a, .answer):focus-visible { outline: 3px solid var(--_accent); outline-offset: 1px; }
.panel {
  position: absolute;
  inset-inline: 0;
  z-index: var(--causey-search-layer, 10);
  margin-block-start: .25rem;
  color: var(--_text);
  background: var(--_back);
  border: 1px solid var(--_line);
  border-radius: var(--causey-search-radius, .5rem);
  box-shadow: 0 .5rem 1.5rem #0004;
}
.panel[hidden], [role=listbox]:empty { display: none; }
[role=listbox] { padding: .25rem; }
[role=listbox], .answer { max-block-size: var(--causey-search-height, 45vh); overflow: auto; }
[role=option] { padding: .5rem; border-radius: .25rem; cursor: pointer; overflow-wrap: anywhere; }
[role=option]:hover, [role=option][aria-selected=true] { background: var(--_chosen); }
[role=option][aria-selected=true] { outline: 2px solid var(--_accent); outline-offset: -2px; }
.title { display: block; font-weight: 600; color: var(--_accent); }
.text { display: block; color: var(--_quiet); }
mark { background: var(--_mark); color: var(--_text); border-radius: .125rem; }
.answer { padding: .75rem; border-block-end: 1px solid var(--_line); overflow-wrap: anywhere; }
.answer:empty { display: none; }
.answer p { margin: 0; white-space: pre-wrap; }
.answer ol { margin: .5rem 0 0; padding-inline-start: 1.5rem; }
.answer a { color: var(--_accent); }
.note { padding: .75rem; margin: 0; color: var(--_quiet); }
.note:empty { display: none; }
.status { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (forced-colors: active) { [role=option][aria-selected=true] { outline-color: Highlight; } }
`;
