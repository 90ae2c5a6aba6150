#include "heatmap/page.h"

namespace bert {

const std::string_view kPageHead = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Attention weights</title>
<style>
:root { color-scheme: light; --ink: #1b1f24; --soft: #667085; --line: #d8dee6; --blue: #08519c; --mark: #d9480f; }
* { box-sizing: border-box; }
html { overflow-y: scroll; } /* a scroll bar that comes while heads are drawn would make the last ones larger */
body { margin: 0; color: var(--ink); background: #fff; font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { padding: 0 20px 40px; }
h1 { font-size: 17px; margin: 0 12px 0 0; }
h2 { font-size: 12px; margin: 0; font-weight: 600; }
#bar { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; padding: 12px 0 8px; }
fieldset { border: 0; margin: 0; padding: 0; display: flex; flex-wrap: wrap; align-items: center; gap: 3px; }
legend { float: left; padding: 0 5px 0 0; color: var(--soft); font-size: 12px; }
button, select { font: inherit; font-size: 12px; padding: 2px 8px; border: 1px solid var(--line); border-radius: 5px; background: #fff; color: var(--ink); cursor: pointer; }
button[aria-pressed=true] { background: var(--blue); border-color: var(--blue); color: #fff; }
#top { position: sticky; top: 0; z-index: 2; background: #fff; border-bottom: 1px solid var(--line); padding-bottom: 10px; }
#texts { max-height: 38vh; overflow: auto; padding: 4px 3px; margin: 0 -3px; }
.side { color: var(--soft); font-size: 12px; margin: 4px 0 1px; }
.tokens { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; line-height: 1.2; overflow-wrap: anywhere; }
.tokens span { padding: 2px 3px; border-radius: 3px; margin: 0 3px 3px 0; cursor: pointer; unicode-bidi: isolate; white-space: pre-wrap; display: inline-block; max-width: 100%; }
#texts .tokens { font-size: 14px; }
.panel .tokens { font-size: 11px; }
.panel .tokens span { padding: 1px 2px; margin: 0 2px 2px 0; }
.tokens span.focus { outline: 2px solid var(--mark); }
.tokens span.pinned { outline-style: double; outline-width: 4px; }
#says { min-height: 3em; margin: 6px 0 0; color: var(--ink); font-size: 13px; }
#says b, .best b { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-weight: 600; }
.soft { color: var(--soft); }
#heads { display: grid; gap: 14px; margin-top: 14px; align-items: start; }
.panel { border: 1px solid var(--line); border-radius: 7px; padding: 8px 10px 10px; min-width: 0; overflow: auto; }
.panel header { display: flex; justify-content: space-between; gap: 10px; margin-bottom: 5px; align-items: baseline; }
.best { color: var(--soft); font-size: 11px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
canvas { display: block; cursor: crosshair; }
#tip { position: fixed; z-index: 3; display: none; pointer-events: none; background: #1b1f24; color: #fff; padding: 3px 8px; border-radius: 5px; font-size: 12px; max-width: 60vw; overflow-wrap: anywhere; }
#scale { display: inline-flex; align-items: center; gap: 6px; color: var(--soft); font-size: 12px; }
#scale i { width: 90px; height: 10px; border: 1px solid var(--line); border-radius: 2px; background: linear-gradient(to right, #f7fbff, #deebf7, #c6dbef, #9ecae1, #6baed6, #4292c6, #2171b5, #08519c, #08306b); }
</style>
</head>
<body>
<main>
<div id="top">
<div id="bar"></div>
<div id="texts"></div>
<p id="says" aria-live="polite"></p>
</div>
<div id="heads"></div>
</main>
<div id="tip"></div>
<noscript>This page draws attention weights and wants JavaScript. It loads nothing from a network.</noscript>
<script id="data" type="application/json">
)page";

const std::string_view kPageTail = R"page(
</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const make = (tag, parent, text, name) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  if (parent) parent.append(e);
  return e;
};

// Weights of a head, [from][to]; NaN where there was no row.
function matrix(record, head) {
  if (head.matrix) return head.matrix;
  const rows = record.from.length, cols = (record.to || record.from).length;
  const all = new Float32Array(rows * cols);
  if (head.dense !== undefined) {
    const bytes = atob(head.dense);
    for (let i = 0; i < all.length; ++i) {
      const n = bytes.charCodeAt(2 * i) | bytes.charCodeAt(2 * i + 1) << 8;
      all[i] = n === 65535 ? NaN : n / 65534 * head.max;
    }
  } else {
    all.fill(NaN);
    for (const [from, to, weight] of head.cells) all[from * cols + to] = weight;
  }
  return head.matrix = all;
}

const blues = [[247,251,255],[222,235,247],[198,219,239],[158,202,225],[107,174,214],[66,146,198],[33,113,181],[8,81,156],[8,48,107]];
function color(share) {
  if (!(share > 0)) return blues[0];
  const place = Math.min(share, 1) * 8, i = Math.min(Math.floor(place), 7);
  return blues[i].map((a, c) => Math.round(a + (place - i) * (blues[i + 1][c] - a)));
}
const isDark = c => .299 * c[0] + .587 * c[1] + .114 * c[2] < 140;
const number = w => Number.isNaN(w) ? "no row" : w >= .0095 || w === 0 ? w.toFixed(3) : w.toPrecision(2);

// What is shown. focus: a token, {side, i}.
const state = { record: 0, layer: null, side: "from", view: null, root: null, focus: null, pinned: false };
let record, from, to, self, layers, heads, panels = [], texts = {};
// In a large matrix most weights are small beside the largest.
const rooted = matrix => state.root ?? (matrix && Math.max(from.length, to.length) > 40);
const share = (w, most, root) => {
  const s = most > 0 ? w / most : 0;
  return root ? Math.sqrt(s) : s;
};

// The weights that one text has for the focus, or on the whole: those of `all`, of one head or the mean of several.
function vector(all, focus) {
  const rows = from.length, cols = to.length, side = focus ? focus.side : state.side;
  const out = new Float64Array(side === "from" ? cols : rows);
  for (let i = 0; i < out.length; ++i) {
    if (focus) {
      out[i] = side === "from" ? all[focus.i * cols + i] : all[i * cols + focus.i];
      continue;
    }
    let sum = 0;
    const n = side === "from" ? rows : cols;
    for (let j = 0; j < n; ++j) sum += (side === "from" ? all[j * cols + i] : all[i * cols + j]) || 0;
    out[i] = sum / n;
  }
  return out;
}
const largest = values => values.reduce((a, b) => b > a ? b : a, 0);
function mean(list) {
  const out = new Float32Array(list[0].length);
  for (let i = 0; i < out.length; ++i) {
    let sum = 0, n = 0;
    for (const m of list) if (!Number.isNaN(m[i])) sum += m[i], ++n;
    out[i] = n ? sum / n : NaN;
  }
  return out;
}

function shadeTokens(box, values, most) {
  const spans = box.children, root = rooted(false);
  for (let i = 0; i < spans.length; ++i) {
    const c = color(share(values[i], most, root));
    spans[i].style.background = `rgb(${c})`;
    spans[i].style.color = isDark(c) ? "#fff" : "#000";
  }
}
function clearShades(box) {
  for (const span of box.children) span.style.background = span.style.color = "";
}
function markFocus(box, side) {
  [...box.children].forEach((span, i) => {
    const on = state.focus && state.focus.i === i && (self || state.focus.side === side);
    span.classList.toggle("focus", !!on);
    span.classList.toggle("pinned", !!on && state.pinned);
  });
}

function best(values, list, count) {
  return [...values.keys()].filter(i => values[i] > 0).sort((a, b) => values[b] - values[a]).slice(0, count)
    .map(i => [list[i][1], values[i]]);
}
function listBest(parent, values, list, count) {
  best(values, list, count).forEach(([token, weight], i) => {
    if (i) parent.append(", ");
    make("b", parent, token);
    parent.append(" " + number(weight));
  });
}

// Which text is shaded now, and whose tokens they are.
const shadedSide = () => (state.focus ? state.focus.side : state.side) === "from" ? "to" : "from";
const listOf = side => side === "from" ? from : to;

function paint() {
  const focus = state.focus, side = shadedSide(), list = listOf(side);
  const values = vector(state.mean, focus), most = data.largest ?? largest(values);
  for (const [name, box] of Object.entries(texts)) {
    if (self || name === side) shadeTokens(box, values, most); else clearShades(box);
    markFocus(box, name);
  }
  const says = $("says");
  says.textContent = "";
  const whose = heads.length > 1 ? `mean of ${heads.length} heads` : `head ${heads[0].head}`;
  if (focus) {
    make("b", says, listOf(focus.side)[focus.i][1]);
    says.append(focus.side === "from" ? " looks at " : " is looked at by ");
    listBest(says, values, list, 6);
  } else {
    says.append(side === "to" ? "Looked at most: " : "Looks most: ");
    listBest(says, values, list, 6);
  }
  make("span", says, `  (layer ${state.layer}, ${whose})`, "soft");
  make("br", says);
  make("span", says, state.pinned ? "Click the token again, or press Escape, to let go." :
    "Point at a token to see what it looks at; click to hold it.", "soft");
  for (const panel of panels) paintPanel(panel, focus, side, list);
}

function paintPanel(panel, focus, side, list) {
  const values = vector(panel.weights, focus);
  panel.best.textContent = "";
  listBest(panel.best, values, list, 1);
  if (state.view === "text") {
    if (!self && panel.side !== side) fillPanel(panel, side);
    shadeTokens(panel.tokens, values, data.largest ?? largest(values));
    if (self) markFocus(panel.tokens, side);
  } else {
    drawMatrix(panel);
  }
}

// The matrix is drawn once; the focus is drawn on a copy of it.
function sizes(panel) {
  const room = panel.box.clientWidth - 22, n = Math.max(from.length, to.length);
  const context = panel.canvas.getContext("2d");
  const names = Math.max(from.length, to.length) <= 80;
  let font = 11, cell;
  const widest = list => Math.ceil(Math.max(...list.map(t => context.measureText(clip(t[1])).width)));
  context.font = font + "px 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  if (names) {
    const left = widest(from) + 6, top = widest(to) + 6;
    cell = Math.max(9, Math.min(38, Math.floor((room - left) / to.length)));
    font = Math.max(8, Math.min(11, cell));
    return { cell, font, left, top, names };
  }
  cell = Math.max(1, Math.floor(room / n));
  return { cell, font, left: 0, top: 0, names };
}
const clip = text => { const c = [...text]; return c.length > 14 ? c.slice(0, 13).join("") + "…" : text; };

function prepareMatrix(panel) {
  const ratio = window.devicePixelRatio || 1, canvas = panel.canvas, size = panel.size = sizes(panel);
  const width = size.left + size.cell * to.length + 1, height = size.top + size.cell * from.length + 1;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  const most = data.largest ?? panel.head.max, root = rooted(true);
  for (let i = 0; i < from.length; ++i) {
    for (let j = 0; j < to.length; ++j) {
      const w = panel.weights[i * to.length + j];
      if (Number.isNaN(w)) continue;
      const shade = color(share(w, most, root)), x = size.left + j * size.cell, y = size.top + i * size.cell;
      c.fillStyle = `rgb(${shade})`;
      c.fillRect(x, y, size.cell, size.cell);
      if (size.cell < 30) continue;
      c.fillStyle = isDark(shade) ? "#fff" : "#000";
      c.font = "10px system-ui, sans-serif";
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.fillText(w.toFixed(2).replace(/^0/, ""), x + size.cell / 2, y + size.cell / 2);
    }
  }
  c.strokeStyle = "#99a";
  c.lineWidth = .5;
  c.strokeRect(size.left + .5, size.top + .5, size.cell * to.length - .5, size.cell * from.length - .5);
  panel.image = c.getImageData(0, 0, canvas.width, canvas.height);
}
function drawLabels(c, size, focus) {
  c.font = size.font + "px 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  c.textBaseline = "middle";
  const ink = on => c.fillStyle = on ? "#d9480f" : "#1b1f24";
  c.textAlign = "right";
  from.forEach((t, i) => {
    ink(focus && focus.side === "from" && focus.i === i);
    c.fillText(clip(t[1]), size.left - 4, size.top + (i + .5) * size.cell);
  });
  c.textAlign = "left";
  to.forEach((t, j) => {
    ink(focus && focus.side === "to" && focus.i === j);
    c.save();
    c.translate(size.left + (j + .5) * size.cell, size.top - 4);
    c.rotate(-Math.PI / 2);
    c.fillText(clip(t[1]), 0, 0);
    c.restore();
  });
}
function drawMatrix(panel) {
  if (!panel.image) prepareMatrix(panel);
  const c = panel.canvas.getContext("2d"), size = panel.size, focus = state.focus;
  c.putImageData(panel.image, 0, 0);
  if (size.names) drawLabels(c, size, focus);
  if (!focus) return;
  c.strokeStyle = "#d9480f";
  c.lineWidth = size.cell > 4 ? 2 : 1;
  const wide = to.length * size.cell, high = from.length * size.cell, at = focus.i * size.cell;
  if (focus.side === "from") c.strokeRect(size.left + .5, size.top + at + .5, wide, Math.max(size.cell, 2));
  else c.strokeRect(size.left + at + .5, size.top + .5, Math.max(size.cell, 2), high);
}

function setFocus(focus) {
  if (state.pinned) return;
  const same = focus && state.focus ? focus.side === state.focus.side && focus.i === state.focus.i : focus === state.focus;
  if (same) return;
  state.focus = focus;
  paint();
}
function pin(focus) {
  const again = state.pinned && state.focus.i === focus.i && state.focus.side === focus.side;
  state.pinned = false;
  if (again) { paint(); return; }
  state.focus = focus;
  state.pinned = true;
  paint();
}
function tip(event, text) {
  const t = $("tip");
  t.style.display = text ? "block" : "none";
  if (!text) return;
  t.textContent = text;
  const x = Math.min(event.clientX + 14, innerWidth - t.offsetWidth - 8);
  t.style.left = Math.max(4, x) + "px";
  t.style.top = Math.min(event.clientY + 16, innerHeight - t.offsetHeight - 8) + "px";
}
function pairText(weights, i, side, where) {
  const f = state.focus;
  if (!f) return "";
  const [a, b] = f.side === "from" ? [f.i, i] : [i, f.i];
  return `${from[a][1]} → ${to[b][1]}  ${number(weights[a * to.length + b])}${where}`;
}

// Spans of a text. `side`: which text it is; `hover`: whether its tokens are for pointing at.
function fillTokens(box, list, side, hover, weights, where) {
  const sideOf = () => self ? state.side : side;
  list.forEach(([index, text], i) => {
    if (i && +index !== +list[i - 1][0] + 1) box.dataset.gaps = "yes";
    const span = make("span", box, text);
    span.title = "";
    if (hover) {
      span.tabIndex = 0;
      span.addEventListener("focus", () => setFocus({ side: sideOf(), i }));
      span.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); pin({ side: sideOf(), i }); } });
    }
    span.addEventListener("mousemove", e => {
      if (hover || self) setFocus({ side: sideOf(), i });
      const other = state.pinned && (self || side === shadedSide()) || !(hover || self);
      tip(e, other ? pairText(weights(), i, side, where) : "");
    });
    span.addEventListener("mouseleave", e => tip(e, ""));
    if (hover || self) span.addEventListener("click", () => pin({ side: sideOf(), i }));
  });
  box.addEventListener("mouseleave", () => setFocus(null));
}

// The text that is shaded, in a panel.
function fillPanel(panel, side) {
  panel.tokens?.remove();
  panel.tokens = make("div", panel.box, undefined, "tokens");
  panel.side = side;
  fillTokens(panel.tokens, listOf(side), side, false, () => panel.weights, `  (head ${panel.head.head})`);
}

function buildPanel(head) {
  const box = make("section", $("heads"), undefined, "panel"), title = make("header", box);
  make("h2", title, `layer ${head.layer}  head ${head.head}`);
  const panel = { box, head, best: make("div", title, undefined, "best"), weights: matrix(record, head) };
  if (state.view === "text") {
    fillPanel(panel, shadedSide());
    return panel;
  }
  const canvas = panel.canvas = make("canvas", box);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `weights of layer ${head.layer}, head ${head.head}`);
  const at = e => {
    const r = canvas.getBoundingClientRect(), s = panel.size;
    const j = Math.floor((e.clientX - r.left - s.left) / s.cell), i = Math.floor((e.clientY - r.top - s.top) / s.cell);
    return { i, j, row: i >= 0 && i < from.length, col: j >= 0 && j < to.length };
  };
  const focusAt = p => p.row && (p.col ? state.side === "from" : true) ? { side: "from", i: p.i } :
    p.col ? { side: "to", i: p.j } : null;
  canvas.addEventListener("mousemove", e => {
    const p = at(e);
    setFocus(focusAt(p));
    tip(e, p.row && p.col ? `${from[p.i][1]} → ${to[p.j][1]}  ${number(panel.weights[p.i * to.length + p.j])}` :
      p.row ? from[p.i][1] : p.col ? to[p.j][1] : "");
  });
  canvas.addEventListener("mouseleave", e => { tip(e, ""); setFocus(null); });
  canvas.addEventListener("click", e => { const f = focusAt(at(e)); if (f) pin(f); });
  return panel;
}

function choices(name, options, current, choose) {
  const field = make("fieldset", $("bar"));
  make("legend", field, name);
  if (options.length > 24) {
    const select = make("select", field);
    for (const [value, text] of options) make("option", select, text).value = value;
    select.value = current;
    select.addEventListener("change", () => choose(options.find(o => String(o[0]) === select.value)[0]));
    return;
  }
  for (const [value, text] of options) {
    const button = make("button", field, text);
    button.type = "button";
    button.setAttribute("aria-pressed", value === current);
    button.addEventListener("click", () => choose(value));
  }
}
function change(name) {
  return value => {
    state[name] = value;
    if (name === "record") state.layer = state.view = null;
    state.focus = null;
    state.pinned = false;
    build();
  };
}

function build() {
  record = data.records[state.record];
  from = record.from;
  to = record.to || record.from;
  self = !record.to;
  layers = [...new Set(record.heads.map(h => h.layer))];
  if (!layers.includes(state.layer)) state.layer = layers[0];
  heads = record.heads.filter(h => h.layer === state.layer);
  state.view ??= from.length > 1 && Math.max(from.length, to.length) <= 40 ? "matrix" : "text";
  state.mean = mean(heads.map(h => matrix(record, h)));
  for (const id of ["bar", "texts", "heads"]) $(id).textContent = "";
  make("h1", $("bar"), "Attention");
  if (data.records.length > 1) choices("record", data.records.map((r, i) => [i, String(r.record)]), state.record, change("record"));
  if (layers.length > 1) choices("layer", layers.map(l => [l, String(l)]), state.layer, change("layer"));
  choices("a token", [["from", "looks at"], ["to", "is looked at by"]], state.side, change("side"));
  choices("heads", [["matrix", "matrix"], ["text", "text"]], state.view, change("view"));
  choices("shade", [[null, "auto"], [false, "linear"], [true, "square root"]], state.root, change("root"));
  const scale = make("span", $("bar"), "0");
  scale.id = "scale";
  make("i", scale);
  scale.append(data.largest ? String(data.largest) : "largest");
  texts = {};
  for (const side of self ? ["from"] : ["from", "to"]) {
    if (!self) make("div", $("texts"), side === "from" ? "looks" : "is looked at", "side");
    texts[side] = make("div", $("texts"), undefined, "tokens");
    fillTokens(texts[side], listOf(side), side, true, () => state.mean, "  (mean)");
  }
  const n = Math.max(from.length, to.length);
  const least = state.view === "text" ? (n > 100 ? 420 : 300) : n <= 12 ? 100 + 38 * n : n <= 80 ? 130 + 10 * n : Math.min(640, 2 * n + 30);
  $("heads").style.gridTemplateColumns = `repeat(auto-fill, minmax(min(100%, ${least}px), 1fr))`;
  panels = heads.map(buildPanel);
  paint();
}

addEventListener("keydown", e => {
  if (e.key !== "Escape") return;
  state.pinned = false;
  setFocus(null);
});
let later;
addEventListener("resize", () => {
  clearTimeout(later);
  later = setTimeout(() => { for (const p of panels) p.image = null; paint(); }, 100);
});
build();
</script>
</body>
</html>
)page";

}  // namespace bert
