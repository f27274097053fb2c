"""How the page looks, by day, by night, on a telephone and on paper. Fonts are the reader's own."""

from maitred.simulate.report.floor import COLOURS
from maitred.simulate.report.plot import BASELINE, POLICIES
from maitred.simulate.results import BUCKETS

RULES = """
:root {
  color-scheme: light dark;
  --paper: #f7f7f5; --card: #ffffff; --ink: #1c2127; --soft: #5a636e; --line: #e1e4e8; --best: #12684f;
  --shadow: 0 1px 2px rgb(20 30 40 / .06), 0 4px 16px rgb(20 30 40 / .04);
  --productive: #1f8a6d; --starting: #8ccfb9; --incomplete: #f0a30a; --stalled: #d98200; --leaving: #ecc08a;
  --lostToEviction: #e0682f; --lostToFailure: #c22f4a; --reserved: #7d70d1; --spare: #4f9fb5;
  --fragmented: #9cb3c8; --idle: #e3e7eb; --broken: #69717c;
  --policy-0: #2a69cf; --policy-1: #b2388f; --policy-2: #0b8ba3; --policy-3: #a0611b;
  --policy-4: #5d52b8; --policy-5: #5f8018; --policy-6: #14532d; --policy-baseline: #76818e;
  --job-light: 62%; --job-chroma: .11;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #12151a; --card: #1a1f26; --ink: #e8ebef; --soft: #a0a9b5; --line: #2e353f; --best: #5fd3b0;
    --shadow: none;
    --productive: #2aa583; --starting: #1d6450; --incomplete: #f2ae2e; --stalled: #c47a14; --leaving: #8a6231;
    --lostToEviction: #e87a45; --lostToFailure: #e0526b; --reserved: #8f83e0; --spare: #3f8ba1;
    --fragmented: #5d7489; --idle: #2b323b; --broken: #8d96a3;
    --policy-0: #6ba3f7; --policy-1: #e57cc6; --policy-2: #3fbdd8; --policy-3: #dfa257;
    --policy-4: #a59bf2; --policy-5: #a5c958; --policy-6: #c9f2dc; --policy-baseline: #a3adb9;
    --job-light: 66%; --job-chroma: .1;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 76rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
h1, h2, h3, h4, p, dl, dd { margin: 0; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.02em; font-weight: 650; }
h2 { font-size: 1.2rem; letter-spacing: -.01em; font-weight: 650; }
h3 { font-size: .95rem; font-weight: 650; }
h4 { font-size: .8rem; font-weight: 600; color: var(--soft); }
h1, h3, h4, dt, td, th, li, .note, .legend { overflow-wrap: anywhere; }
.lead { color: var(--soft); margin-top: .4rem; font-size: 1.02rem; }
section { margin-top: 2.5rem; }
section > .card { margin-top: 1rem; }
section > .lead { font-size: .92rem; margin-top: .2rem; max-width: 60rem; }
.panels {
  display: grid; gap: 1.25rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr));
}
.panels.four { grid-template-columns: repeat(auto-fit, minmax(min(100%, 16.5rem), 1fr)); }
.panels.wide { grid-template-columns: 1fr; }
.card {
  display: flex; flex-direction: column; min-width: 0; padding: 1.1rem 1.2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; box-shadow: var(--shadow);
}
.note { color: var(--soft); font-size: .82rem; margin-top: .5rem; }
.key { display: inline-block; flex: none; width: .75em; height: .75em; margin-right: .45em; }
.legend .key, #tip .key { border-radius: 2px; }
h3 .key { border-radius: 50%; }

.big {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .5rem; margin-top: .7rem;
  font-size: 2.5rem; font-weight: 650; letter-spacing: -.03em; line-height: 1.1;
}
.big small { font-size: .85rem; font-weight: 450; letter-spacing: 0; color: var(--soft); text-wrap: nowrap; }
.split { display: flex; height: 14px; margin: .8rem 0 1rem; border-radius: 4px; overflow: hidden; gap: 1px; }
.split i { min-width: 1px; }
.glance { display: grid; grid-template-columns: 1fr auto; row-gap: .3rem; font-size: .92rem; }
.glance div { display: contents; }
.card > h4 { margin: 1rem 0 .3rem; padding-top: .8rem; border-top: 1px solid var(--line); }
.glance dt { color: var(--soft); }
.glance dd { text-align: right; font-variant-numeric: tabular-nums; font-weight: 550; }

.legend {
  display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin-top: .8rem; font-size: .84rem; color: var(--soft);
}
.legend button {
  padding: .1rem 0; border: 0; background: none; font: inherit; color: inherit; cursor: pointer;
}
.legend button[aria-pressed=false] { text-decoration: line-through; opacity: .55; }
.legend button:focus-visible, summary:focus-visible, a:focus-visible, .scroll:focus-visible {
  outline: 2px solid var(--policy-0); outline-offset: 2px; border-radius: 3px;
}

.plot { margin-top: .9rem; font-size: .74rem; color: var(--soft); }
.unit { margin-bottom: .7rem; }
.axes { display: grid; grid-template: 1fr 1.4rem / 3.1rem 1fr; padding-right: 1.1rem; }
.canvas { position: relative; z-index: 1; height: 100%; }
.canvas svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.tall .canvas { height: 14rem; }
.taller .canvas { min-height: 19rem; }
.growing, .growing .plot { flex: 1; display: flex; flex-direction: column; }
.growing .axes { flex: 1; }
.low .canvas { height: 4.5rem; }
.marks { position: relative; pointer-events: none; font-variant-numeric: tabular-nums; white-space: nowrap; }
.marks span { position: absolute; }
.up span { right: .5rem; transform: translateY(50%); line-height: 1; }
.along { grid-column: 2; }
.along span { top: .35rem; transform: translateX(-50%); line-height: 1; }

svg path, svg rect { vector-effect: non-scaling-stroke; }
.grid, .axis, .cursor { fill: none; pointer-events: none; }
.grid { stroke: var(--line); }
.axis { stroke: var(--soft); opacity: .6; }
.cursor { stroke: var(--ink); stroke-dasharray: 3 3; }
.area { stroke: none; }
.area.waiting { fill: var(--soft); opacity: .45; }
.line { fill: none; stroke-width: 2.25; stroke-linejoin: round; }
.dot { fill: none; stroke-width: 5; stroke-linecap: round; opacity: .5; }
.dot.never { opacity: 1; stroke-width: 7; stroke: var(--lostToFailure); }
.dot:hover { opacity: 1; stroke-width: 8; }
.whisker { fill: none; stroke-width: 1.5; }
.box { fill-opacity: .3; stroke-width: 1.25; }
.median { fill: none; stroke-width: 3; }
.boxed:hover .box { fill-opacity: .55; }
.faded { opacity: .07; }

.bars { display: grid; gap: .8rem; margin-top: .8rem; font-size: .88rem; }
.bars div { min-width: 0; }
.bars dt { font-weight: 550; margin-bottom: .2rem; }
.bars dd { display: flex; align-items: center; gap: .5rem; height: 1.25rem; }
.bar { flex: none; height: .8rem; border-radius: 0 3px 3px 0; min-width: 2px; }
.bars span { color: var(--soft); font-size: .8rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bars span:last-child { min-width: 0; overflow: hidden; text-overflow: ellipsis; }

.floor { display: flex; flex-wrap: wrap; gap: .9rem 1.6rem; margin-top: .8rem; }
.block { max-width: 100%; }
.racks { display: flex; flex-wrap: wrap; gap: .7rem .8rem; margin-top: .3rem; }
.rack { font-size: .68rem; color: var(--soft); line-height: 1.2; max-width: 20rem; }
.rack svg { display: block; margin-bottom: .15rem; max-width: 100%; }
.rack path {
  fill: none; stroke-width: calc(var(--cell) - 1.5px);
  stroke-dasharray: calc(var(--cell) - 1.5px) 1.5px; vector-effect: none;
}
.rack path.free { stroke: var(--idle); }
.rack path.broken { stroke: url(#hatch-broken); }
.rack path.held { stroke: url(#hatch-held); }
.ground-held { fill: var(--incomplete); }
.stripe-held { fill: var(--lostToFailure); }
.ground-broken { fill: var(--broken); }
.stripe-broken { fill: var(--card); }
.rack path.hot { stroke: var(--ink); }
.key.held {
  background: repeating-linear-gradient(45deg, var(--incomplete) 0 2px, var(--lostToFailure) 2px 4px);
}
.key.out { background: repeating-linear-gradient(45deg, var(--broken) 0 2px, var(--card) 2px 3px); }
.key.free { background: var(--idle); }
.key.seated {
  background: linear-gradient(90deg, oklch(var(--job-light) var(--job-chroma) 170),
    oklch(var(--job-light) var(--job-chroma) 250), oklch(var(--job-light) var(--job-chroma) 330));
  width: 2em;
}

table {
  border-collapse: separate; border-spacing: 0; width: 100%;
  font-size: .88rem; font-variant-numeric: tabular-nums;
}
th, td { padding: .28rem .5rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child { text-align: left; font-weight: 450; }
thead th { font-weight: 650; vertical-align: bottom; }
td { white-space: nowrap; }
td.best { color: var(--best); font-weight: 650; }
.comparison { min-width: 30rem; line-height: 22px; }
.comparison th, .comparison td { padding-block: 4px; }
.comparison th:first-child { position: sticky; left: 0; z-index: 1; background: var(--card); }
.comparison tbody th { padding-left: 0; min-width: 9rem; }
.comparison .title th { font-weight: 650; padding-top: 18px; border-bottom-color: var(--soft); }
.comparison .title div {
  position: sticky; left: 0; width: max-content; max-width: min(100%, 100vw - 5rem, 70rem);
}
.comparison .title small { font-size: .82rem; font-weight: 450; color: var(--soft); margin-left: .6rem; }
.comparison .aside th, .comparison .aside td { color: var(--soft); font-size: .82em; }
.comparison .aside th { padding-left: 1rem; }
.comparison thead th:not(:first-child), .comparison td.first { padding-left: 1.4rem; }
.scroll { overflow-x: auto; }
.hint:not([hidden]) + .scroll {
  background: linear-gradient(to left, var(--card) 1rem, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to left, rgb(0 0 0 / .16), transparent) right / .9rem 100% no-repeat scroll;
}
details { margin-top: .7rem; font-size: .84rem; }
summary { cursor: pointer; color: var(--soft); }
details .scroll { margin-top: .5rem; }
ul { margin: .5rem 0 0; padding-left: 1.2rem; }
.meaning { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1.2rem; margin-top: .8rem; }
.meaning dt { font-weight: 550; }
.meaning dd { color: var(--soft); }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .82rem; }

#tip {
  position: fixed; z-index: 9; pointer-events: none; max-width: min(24rem, 90vw); padding: .5rem .7rem;
  background: var(--ink); color: var(--paper); border-radius: 8px; font-size: .8rem; line-height: 1.45;
  box-shadow: 0 6px 24px rgb(0 0 0 / .25); overflow-wrap: anywhere;
}
#tip[hidden] { display: none; }
#tip div { display: flex; align-items: baseline; }
#tip div:first-child { font-weight: 650; }
#tip b { margin-left: auto; padding-left: 1.2rem; font-variant-numeric: tabular-nums; font-weight: 550; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.defs { position: absolute; width: 0; height: 0; }

@media (max-width: 40rem) {
  main { padding: 1.5rem .9rem 2rem; }
  h1 { font-size: 1.5rem; }
  .meaning { grid-template-columns: 1fr; gap: 0; }
  .meaning dd { margin-bottom: .5rem; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --shadow: none; }
  body { font-size: 11px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  .card, .plot, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  details { display: none; }
}
"""


def style() -> str:
    """Rules that differ only by what they are for come first: all others may say more."""
    kinds = [*BUCKETS, *POLICIES, BASELINE]
    fills = "".join(
        f".{kind} {{ fill: var(--{kind}); stroke: var(--{kind}); }}\n"
        f".key.{kind}, .split .{kind}, .bar.{kind} {{ background: var(--{kind}); }}\n"
        for kind in kinds
    )
    jobs = "".join(
        f".rack .job-{number} {{ stroke: oklch(var(--job-light) var(--job-chroma) {hue(number)}); }}\n"
        for number in range(COLOURS)
    )
    return fills + jobs + RULES


def hue(job: int) -> int:
    """From green over blue to pink, next to each other far apart; yellow and red mean something else."""
    return 150 + 16 * (7 * job % COLOURS)
