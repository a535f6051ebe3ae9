"""How the page looks: light or dark as the reader's device, on a phone, on a screen and on paper."""

# The colours are those of the displays, Okabe and Ito's; on dark paper the lighter blue of the palette.
CSS = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1e21; --soft: #596067; --line: #d7dbdf; --tint: #f4f6f8;
  --a: 0 114 178; --b: 213 94 0; --c: 140 148 156; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181b; --ink: #e7eaec; --soft: #a7aeb5; --line: #373d43; --tint: #1f2428;
    --a: 86 180 233; --b: 240 140 60; --c: 118 126 134; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
  -webkit-text-size-adjust: 100%; }
main { max-width: 66rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-top: .5rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; }
.warning { border: 2px solid rgb(var(--b)); border-radius: .3rem; background: rgb(var(--b) / .1); padding: .2rem 1rem;
  margin: 1rem 0; }
.warning h2 { border: 0; margin: .4rem 0; padding: 0; }
.warning li { font-weight: 600; margin: .3rem 0; }
.warning ul { padding-left: 1.2rem; }
.lead { font-size: 1.2rem; }
.soft, figcaption, footer { color: var(--soft); }
figcaption { font-size: .9rem; margin-top: .3rem; }
footer { margin-top: 2.5rem; padding-top: .6rem; border-top: 1px solid var(--line); font-size: .9rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .5rem 1.2rem; margin: .6rem 0; }
dt { color: var(--soft); font-size: .9rem; }
dd { margin: 0; font-weight: 600; }
.scroll { overflow: auto; max-height: 32rem; border: 1px solid var(--line); border-radius: .3rem; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
th, td { padding: .35rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { position: sticky; top: 0; background: var(--tint); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; max-width: 22rem; overflow-wrap: break-word; }
td .formula { display: block; min-width: 15rem; overflow-wrap: anywhere; }
summary { cursor: pointer; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.best > * { font-weight: 700; background: rgb(var(--a) / .1); }
.cell { display: block; margin: -.35rem -.7rem; padding: .35rem .7rem;
  background: rgb(var(--b) / calc(var(--share) * .5)); }
.cell.right { background: rgb(var(--a) / calc(var(--share) * .5)); }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: .3rem; padding: .7rem .9rem;
  margin: .6rem 0; overflow-x: auto; font: .88rem/1.45 ui-monospace, monospace; overflow-wrap: normal; }
.formula { font: .95rem/1.5 ui-monospace, monospace; }
figure { margin: .8rem 0; min-width: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem 2rem;
  align-items: start; }
svg { display: block; width: 100%; max-width: 33rem; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg .value, svg .halo { fill: var(--ink); font-weight: 600; }
svg .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
svg .axis { fill: none; stroke: var(--soft); }
svg .grid { stroke: var(--line); stroke-width: .6; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .line.a { stroke: rgb(var(--a)); }
svg .line.b { stroke: rgb(var(--b)); stroke-dasharray: 7 3; }
svg .line.c { stroke: rgb(var(--c)); stroke-dasharray: 2 3; }
svg .shade { fill: var(--ink); fill-opacity: .16; }
svg .span { stroke: rgb(var(--a)); stroke-width: 1.6; }
svg .over { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
.strip { width: 8.5rem; }
.strip small { display: block; font-size: .8rem; color: var(--soft); overflow-wrap: anywhere; }
.key { margin-left: .8rem; }
.key::before { content: ""; display: inline-block; width: 1.3rem; margin-right: .3rem; vertical-align: middle;
  border-top: 3px solid rgb(var(--a)); }
.key.b::before { border-top: 3px dashed rgb(var(--b)); }
.key.c::before { border-top: 3px dotted rgb(var(--c)); }
svg .dash { fill: none; stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 5 4; }
svg .error { stroke: var(--ink); stroke-width: 1.6; }
svg .dots { fill: none; stroke: rgb(var(--a) / .55); stroke-width: 4.5; stroke-linecap: round; }
svg .dots.b { stroke: rgb(var(--b)); }
svg .dots.c { stroke: rgb(var(--c)); }
svg .dots.large { stroke: rgb(var(--a)); stroke-width: 8; }
svg .fill.a { fill: rgb(var(--a)); }
svg .fill.b { fill: rgb(var(--b)); }
svg .fill.c { fill: rgb(var(--c)); }
:focus-visible { outline: 2px solid rgb(var(--a)); outline-offset: 1px; }
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --tint: #f4f4f4;
    --a: 0 114 178; --b: 213 94 0; --c: 140 148 156; }
  html { font-size: 9.5pt; }
  th, td { padding: .25rem .5rem; }
  .cell { margin: -.25rem -.5rem; padding: .25rem .5rem; }
  .scroll { max-height: none; overflow: visible; }
  pre { white-space: pre-wrap; }
  section, figure, tr { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
