#!/bin/bash
# heatmap.sh BIN_DIR: the page of heatmap --html in headless Chromium, without network: it is drawn without an error,
# pointing at a token shades the others by its weights, a click holds it, the cells of matrices have their weights' shades.
set -u
bin=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
for browser in chromium chromium-browser google-chrome ''; do command -v "$browser" >/dev/null && break; done
[ -n "$browser" ] || { echo "no chromium"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset "${!BERT_@}"
export PATH=$bin:$PATH HOME=$work LC_ALL=C.UTF-8
alone=() # the kernel gives it no network, where it may
unshare -rn true 2>/dev/null && alone=(unshare -rn)
failures=0

# in_page PAGE SCRIPT: what `done(...)` of the script is called with
in_page() {
  awk -v script="$work/script.js" '
    /<script id="data"/ { print "<script>var faults = []; onerror = m => faults.push(m);</script>" }
    /<\/body>/ { print "<script>"; while ((getline line < script) > 0) print line; print "</script>" } { print }' "$1" >"$work/page.html"
  timeout 60 "${alone[@]}" "$browser" --headless --no-sandbox --disable-gpu --window-size=1200,900 --virtual-time-budget=2000 \
    --user-data-dir="$work/profile" --dump-dom "file://$work/page.html" 2>"$work/err" | grep -o "RESULT.*TLUSER" | head -n 1 |
    sed 's/^RESULT//; s/TLUSER$//; s/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g'
}
cat >"$work/script.js" <<'JS'
(() => {
  const out = [], all = q => [...document.querySelectorAll(q)];
  const spans = () => all("#texts .tokens span"), shades = () => spans().map(s => s.style.background).join();
  const act = (e, kind) => e.dispatchEvent(new MouseEvent(kind, { bubbles: kind !== "mouseleave", clientX: 5, clientY: 5 }));
  const press = text => all("button").find(b => b.textContent === text).click();
  const check = (what, ok) => out.push(what + (ok ? " ok" : " NOT"));
  const near = (a, b) => a.every((x, i) => Math.abs(x - b[i]) <= 4);
  const n = spans().length;
  out.push(n + " tokens", all(".panel").length + " heads");
  const before = shades();
  act(spans()[1], "mousemove");
  const first = shades();
  check("hover", first !== before);
  act(spans()[n - 1], "mousemove");
  check("another", shades() !== first);
  act(document.querySelector("#texts .tokens"), "mouseleave");
  check("leave", shades() === before);
  // What the page says is what the rows say.
  const w = matrix(record, heads[0]);
  act(spans()[1], "mousemove");
  const mean = j => heads.map(h => matrix(record, h)[n + j]).reduce((a, b) => a + b) / heads.length;
  const most = Math.max(...[...Array(n).keys()].map(mean));
  check("shades", spans().every((s, j) => near(s.style.background.match(/\d+/g).map(Number), color(mean(j) / most))));
  act(spans()[1], "click");
  act(spans()[0], "mousemove");
  check("held", document.getElementById("tip").textContent.includes("→"));
  check("focus", spans()[1].classList.contains("pinned"));
  act(spans()[1], "click");
  press("matrix");
  const p = panels[0], s = p.size, ratio = devicePixelRatio, c = p.canvas.getContext("2d");
  let good = 0;
  for (let i = 0; i < n; ++i) {
    for (let j = 0; j < n; ++j) {
      const x = (s.left + j * s.cell + 1.5) * ratio, y = (s.top + i * s.cell + 1.5) * ratio;
      const wanted = color(share(w[i * n + j], p.head.max, rooted(true)));
      good += near([...c.getImageData(x, y, 1, 1).data].slice(0, 3), wanted);
    }
  }
  check("cells", good > .98 * n * n);
  press("text");
  check("texts", all(".panel .tokens").length === heads.length && all(".panel .tokens")[0].children.length === n);
  press("is looked at by");
  act(spans()[0], "mousemove");
  check("direction", document.getElementById("says").textContent.includes("is looked at by"));
  check("fits", document.documentElement.scrollWidth <= innerWidth);
  out.push(faults.length + " faults " + faults.join());
  document.title = "RESULT" + out.join(", ") + "TLUSER";
})();
JS
expect() { # WHAT FOUND WANTED
  [ "$2" = "$3" ] && return
  failures=$((failures + 1))
  printf 'FAIL %s\n  found  %s\n  wants  %s\n' "$1" "$2" "$3"
  head -c 500 "$work/err"
}
right='hover ok, another ok, leave ok, shades ok, held ok, focus ok, cells ok, texts ok, direction ok, fits ok, 0 faults '
echo cat | attend -m tests/golden/tiny-bert --layers 1--1 | heatmap --html >"$work/3.html"
expect "3 tokens" "$(in_page "$work/3.html")" "3 tokens, 4 heads, $right"
for _ in {1..150}; do printf 'cat dog '; done | attend -m tests/golden/deberta-v3 --max-seq-length 160 2>/dev/null | heatmap --html >"$work/long.html"
expect "160 tokens" "$(in_page "$work/long.html")" "160 tokens, 3 heads, $right"
# Two texts: what a target token looks at, and what looks at a source token.
cat >"$work/script.js" <<'JS'
(() => {
  const at = (box, i) => document.querySelectorAll("#texts .tokens")[box].children[i];
  const point = e => e.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: 5, clientY: 5 }));
  [...document.querySelectorAll("button")].find(b => b.textContent === "text").click();
  const panel = () => [...document.querySelectorAll(".panel .tokens span")].map(s => s.textContent).join(" ");
  const says = () => document.getElementById("says").textContent.split("  ")[0];
  const out = [];
  for (const token of [at(0, 1), at(1, 1)]) {
    point(token);
    out.push(says(), panel(), at(0, 1).style.background ? "above" : "below");
  }
  document.title = "RESULT" + out.concat(faults.length).join("; ") + "TLUSER";
})();
JS
printf '1\t1\t1\t%s\n' $'0\t0\t.9\tich\tI' $'0\t1\t.1\tich\tlove' $'1\t1\t.7\tliebe\tlove' $'1\t2\t.3\tliebe\tyou' |
  heatmap --html >"$work/two.html"
expect "two texts" "$(in_page "$work/two.html")" \
  "liebe looks at love 0.700, you 0.300; I love you; below; love is looked at by liebe 0.700, ich 0.100; ich liebe; above; 0"
echo "$failures failed"
[ $failures -eq 0 ]
