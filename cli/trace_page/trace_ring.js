// The ring: geometry, colours, and drawRing(now), which draws one moment and depends on nothing else.
const trace = JSON.parse(document.getElementById("trace-data").textContent);
const N = trace.workers, L = trace.rounds, K = trace.kept_vectors;

// Okabe and Ito's colours, told apart by colour-blind readers. Workers 8 to 15 have them pale with an edge, 16 to 31 hatched.
const hues = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const inks = ["#fff", "#111", "#fff", "#111", "#111", "#fff", "#111", "#111"];
const hatches = {2: "M-2,2 L2,-2 M0,10 L10,0 M8,12 L12,8", 3: "M5,0 V10"};
const hue = i => hues[i % 8];
const family = i => Math.floor(i / 8) % 4;
const ink = i => ["#fff", "var(--ink)", "#111", "#111"][family(i) || (inks[i % 8] === "#fff" ? 0 : 2)];

function dye(shape, i) {
  shape.setAttribute("fill", hatches[family(i)] ? `url(#hue${i % 32})` : hue(i));
  shape.setAttribute("fill-opacity", family(i) === 1 ? 0.28 : 1);
  shape.style.setProperty("--edge", family(i) === 1 ? hue(i) : "var(--card)");
}

const svg = document.getElementById("ring");
function draw(parent, kind, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Geometry in units of the viewBox, 1240 x 1000 about the centre. In a worker's own frame, turned by its angle, y = -radius.
const longest = Math.max(1, ...trace.decoding.map(d => Math.max(1, ...d.kept.map(k => k.sum.length))));
const nodeRadius = N <= 6 ? 30 : N <= 10 ? 25 : N <= 16 ? 20 : Math.max(5, 320 / N);
const detailedTrays = N * K * longest <= 45000;  // otherwise a bar: so many cells would be slow
const trayHeight = detailedTrays ? Math.min(66, 20 * longest) : 10;
const radius = 500 - nodeRadius - 10 - trayHeight - 28;
const hollow = 76;  // the middle, for the round's number
const blockHeight = Math.min(40, (radius - nodeRadius - 8 - hollow) / N);
const blockWidth = Math.max(2, Math.min(56, 1.35 * blockHeight + 4, 0.92 * 2 * Math.PI * (hollow + blockHeight) / N));
const blockFont = Math.min(21, 0.8 * blockHeight, blockWidth / (L > 99 ? 1.9 : 1.3));
const labelled = blockFont >= 7.5;
const trayFoot = radius + nodeRadius + 10;
const trayRoom = N <= 2 ? 380 : Math.min(420, 2 * trayFoot * Math.sin(Math.PI / N) * 0.86);
const columnWidth = Math.min(26, trayRoom / Math.max(1, K));
const cellHeight = trayHeight / longest;
const angle = i => 360 * i / N;
const slotRadius = slot => radius - nodeRadius - 8 - blockHeight * (slot + 0.5);
const columnX = m => (m - (K - 1) / 2) * columnWidth;
const cellRadius = j => trayFoot + (j + 0.5) * cellHeight;
const polar = (degrees, r) => [r * Math.sin(degrees * Math.PI / 180), -r * Math.cos(degrees * Math.PI / 180)];
const ease = p => p * p * (3 - 2 * p);
const mix = (a, b, p) => a + (b - a) * p;
const name = ([worker, round]) => `\u03b4[${worker},${round}]`;

svg.setAttribute("viewBox", "-620 -500 1240 1000");
const definitions = draw(svg, "defs");
for (let i = 16; i < Math.min(N, 32); ++i) {
  const tile = draw(definitions, "pattern", {id: `hue${i}`, width: 10, height: 10, patternUnits: "userSpaceOnUse"});
  draw(tile, "rect", {width: 10, height: 10, fill: hue(i)});
  draw(tile, "path", {d: hatches[family(i)], stroke: "#fff", "stroke-width": 2.4});
}

function drawLinks() {
  const margin = (nodeRadius + 4) / radius * 180 / Math.PI;
  for (let i = 0; i < N; ++i) {
    const from = angle(i) + margin, to = angle(i) + 360 / N - margin;
    const [x0, y0] = polar(from, radius), [x1, y1] = polar(to - margin * 0.3, radius);
    draw(svg, "path", {class: "link", d: `M${x0},${y0} A${radius},${radius} 0 ${to - from > 180 ? 1 : 0} 1 ${x1},${y1}`});
    const size = Math.min(9, nodeRadius * 0.5);
    const [x, y] = polar(to, radius);
    draw(svg, "path", {class: "arrow", d: `M0,0 L${-2 * size},${-size} L${-2 * size},${size} Z`,
                       transform: `translate(${x},${y}) rotate(${to})`});
  }
}

function drawBlock(parent) {
  const g = draw(parent, "g", {class: "block", visibility: "hidden"});
  const h = blockHeight > 8 ? blockHeight - 2 : blockHeight;
  const block = {g, rect: draw(g, "rect", {x: -blockWidth / 2, y: -h / 2, width: blockWidth, height: h, rx: Math.min(5, h / 4)})};
  if (labelled) block.text = draw(g, "text", {"font-size": blockFont, "font-weight": 600});
  block.strike = draw(g, "path", {class: "strike", d: `M${-blockWidth * 0.62},0 H${blockWidth * 0.62}`});
  block.title = draw(g, "title");
  return block;
}

// One vector that worker i has kept, as a column of cells, oldest contribution innermost.
function drawColumn(parent, kept, m) {
  const column = draw(parent, "g", {visibility: "hidden"});
  if (kept.sum.length === 0) {
    draw(column, "rect", {class: "empty", x: columnX(m) - columnWidth * 0.4, y: -cellRadius(0) - cellHeight / 2,
                          width: columnWidth * 0.8, height: cellHeight});
  }
  kept.sum.forEach(([worker], j) => dye(draw(column, "rect", {
    class: "cell", x: columnX(m) - columnWidth * 0.46, y: -cellRadius(j) - cellHeight / 2, width: columnWidth * 0.92,
    height: cellHeight, "stroke-width": cellHeight > 6 ? 0.8 : 0}), worker));
  draw(column, "title", {}, `${kept.vector}[.,${kept.round}] = ${kept.sum.map(name).join(" + ") || "0"}`);
  return column;
}

function drawWorker(i) {
  const turned = {transform: `rotate(${angle(i)})`};
  const tray = draw(svg, "g", turned);
  draw(tray, "path", {class: "tray", d: `M${-K * columnWidth / 2 - 4},${-trayFoot + 3} h${K * columnWidth + 8}`});
  const worker = {tray, result: draw(svg, "g", turned), travelling: draw(svg, "g"), flying: draw(svg, "g", turned)};
  if (detailedTrays) worker.columns = trace.decoding[i].kept.map((kept, m) => drawColumn(tray, kept, m));
  else worker.bar = draw(tray, "rect", {class: "bar", x: -trayRoom / 2, y: -trayFoot - trayHeight, height: trayHeight, width: 0});
  worker.hole = draw(worker.travelling, "g", {class: "hole", transform: `translate(0,${-slotRadius(N - 1)})`});
  draw(worker.hole, "rect", {x: -blockWidth / 2 + 1, width: blockWidth - 2, y: -blockHeight / 2 + 1, height: blockHeight - 2, rx: 4,
                             stroke: hue(i)});
  if (labelled) worker.missing = draw(worker.hole, "text", {"font-size": blockFont * 0.75, transform: `rotate(${-angle(i)})`});
  worker.blocks = Array.from({length: N + 1}, () => drawBlock(worker.travelling));
  worker.copies = Array.from({length: longest}, () => drawBlock(worker.flying));
  drawNode(worker, i);
  drawResult(worker, i);
  return worker;
}

function drawNode(worker, i) {
  const [x, y] = polar(angle(i), radius);
  worker.node = draw(svg, "g", {class: "worker", transform: `translate(${x},${y})`, "data-worker": i});
  draw(worker.node, "circle", {r: nodeRadius, class: "behind"});
  dye(draw(worker.node, "circle", {r: nodeRadius}), i);
  if (nodeRadius >= 9) draw(worker.node, "text", {"font-size": nodeRadius * 0.95, style: `fill:${ink(i)}`}, i);
  draw(worker.node, "title", {}, `worker ${i}`);
  if (N > 32) return;
  const side = Math.sin(angle(i) * Math.PI / 180), anchor = Math.abs(side) < 0.3 ? "middle" : side > 0 ? "start" : "end";
  const [labelX, labelY] = polar(angle(i), trayFoot + trayHeight + 6 + 8 * (1 - Math.abs(side)));
  worker.count = draw(svg, "text", {class: "count", x: labelX, y: labelY, style: `text-anchor:${anchor}`});
}

// The decoded sum: one stripe for each worker's gradient, the own one exact.
function drawResult(worker, i) {
  const width = Math.min(90, 0.5 * 2 * Math.PI * (radius - nodeRadius - 60) / N), stripe = width / N;
  worker.result.setAttribute("visibility", "hidden");
  worker.result.setAttribute("class", "result");
  worker.stripes = Array.from({length: N}, (_, k) => {
    const shape = draw(worker.result, "rect", {x: -width / 2 + k * stripe, width: stripe, height: 30});
    dye(shape, (i + k) % N);
    return shape;
  });
  worker.resultName = draw(worker.result, "text", {transform: `translate(0,${-(radius - nodeRadius - 62)}) rotate(${-angle(i)})`});
  if (N <= 24) {
    draw(worker.resultName, "tspan", {}, "\u011d");
    draw(worker.resultName, "tspan", {dy: 7, "font-size": 14}, i);
  }
}

drawLinks();
const middle = ["centre", "centre big", "centre"].map((kind, k) => draw(svg, "text", {class: kind, y: [-38, 0, 38][k]}));
const workers = Array.from({length: N}, (_, i) => drawWorker(i));

function place(block, i, term, at) {
  block.g.setAttribute("visibility", "visible");
  block.g.setAttribute("transform", `translate(${at.x || 0},${-at.r}) scale(${at.scaleX ?? 1},${at.scaleY ?? 1})`);
  block.g.setAttribute("opacity", at.opacity ?? 1);
  block.g.setAttribute("class", at.home ? "block home" : "block");
  block.strike.setAttribute("visibility", at.struck ? "visible" : "hidden");
  const key = term.join();
  if (block.key !== key) {
    block.key = key;
    dye(block.rect, term[0]);
    block.title.textContent = `${name(term)}: worker ${term[0]}, encoded for round ${term[1]}`;
    if (block.text) {
      block.text.textContent = term[1];
      block.text.setAttribute("style", `fill:${ink(term[0])}`);
    }
  }
  if (block.text) {
    block.text.setAttribute("transform", `rotate(${-at.degrees})`);
    block.text.setAttribute("visibility", at.scaleX === undefined || at.scaleX > 0.75 ? "inherit" : "hidden");
  }
}

const same = (a, b) => a && b && a[0] === b[0] && a[1] === b[1];

// The stack at worker i or on its way from there, with the own block leaving and the next one joining.
function drawStack(worker, i, now) {
  const step = trace.schedule[now.round - 1].steps[i];
  const sent = now.done("travel"), gone = now.done("remove"), joined = now.done("add");
  const holder = sent < 1 ? step.sends_to : i;
  const home = trace.schedule[now.round - 1].steps[holder].removed;
  const terms = sent < 1 ? step.sent : step.received;
  const degrees = angle(i) + (sent < 1 ? ease(sent) * 360 / N : 0);
  const fade = 1 - now.decoded;
  worker.travelling.setAttribute("transform", `rotate(${degrees})`);
  let used = 0;
  terms.forEach((term, k) => {
    const own = same(term, home), slot = terms.length - 1 - k;
    if (own && gone >= 1) return;
    const away = own ? ease(gone) : 0;
    place(worker.blocks[used++], i, term, {r: slotRadius(slot + (own ? 0 : ease(joined))) - away * 1.15 * blockHeight, degrees,
                                           home: own, struck: own && gone > 0, opacity: fade * (1 - 0.85 * away)});
  });
  if (step.added && joined > 0) {
    const p = ease(joined);
    place(worker.blocks[used++], i, step.added,
          {r: slotRadius(p - 1), degrees, scaleX: mix(0.4, 1, p), scaleY: mix(0.4, 1, p), opacity: p});
  }
  for (; used < worker.blocks.length; ++used) worker.blocks[used].g.setAttribute("visibility", "hidden");
  const hole = home && sent >= 1 ? Math.max(0, 2 * gone - 1) * (1 - joined) * fade : 0;
  worker.hole.setAttribute("opacity", hole);
  if (hole > 0 && worker.missing) worker.missing.textContent = `\u2212${home[1]}`;
}

// Copies of the stack's blocks on their way to the tray, while a vector is being kept.
function drawCopies(worker, i, now) {
  const keeping = now.keeping;
  const kept = keeping === undefined ? undefined : trace.decoding[i].kept[keeping];
  const p = ease(now.progress);
  worker.copies.forEach((block, k) => {
    if (!kept || now.progress >= 1 || k >= kept.sum.length) return block.g.setAttribute("visibility", "hidden");
    const slot = kept.sum.length - 1 - k;
    place(block, i, kept.sum[k], {x: mix(0, columnX(keeping), p), r: mix(slotRadius(slot), cellRadius(k), p), degrees: angle(i),
                                  scaleX: mix(1, columnWidth / blockWidth, p), scaleY: mix(1, cellHeight / blockHeight, p)});
  });
}

function drawTray(worker, now) {
  if (worker.shown !== now.kept) {
    worker.shown = now.kept;
    if (worker.columns) worker.columns.forEach((c, m) => c.setAttribute("visibility", m < now.kept ? "visible" : "hidden"));
    else worker.bar.setAttribute("width", trayRoom * now.kept / Math.max(1, K));
    if (worker.count) worker.count.textContent = N <= 8 ? `${now.kept} of ${K} kept` : `${now.kept}/${K}`;
  }
  worker.tray.setAttribute("opacity", 1 - 0.6 * now.decoded);
}

function drawDecoded(worker, now) {
  worker.result.setAttribute("visibility", now.decoded > 0 ? "visible" : "hidden");
  const p = ease(now.decoded), end = radius - nodeRadius - 24;
  worker.stripes.forEach((stripe, k) => {
    const begin = k === 0 && trace.decoder === "own-exact" ? radius - nodeRadius / 2 : trayFoot + trayHeight;
    stripe.setAttribute("y", -mix(begin, end, p) - 15);
  });
  worker.result.setAttribute("opacity", Math.min(1, 2 * now.decoded));
  worker.resultName.setAttribute("opacity", Math.max(0, 2 * now.decoded - 1));
}

// now: {round, phase, progress, done(phase) in 0..1, kept: vectors in the trays, keeping: the one on its way, decoded: 0..1}
function drawRing(now, selected) {
  workers.forEach((worker, i) => {
    if (L > 0) drawStack(worker, i, now);
    else worker.hole.setAttribute("opacity", 0);
    drawCopies(worker, i, now);
    drawTray(worker, now);
    drawDecoded(worker, now);
    worker.node.setAttribute("class", i === selected ? "worker selected" : "worker");
  });
  const words = now.phase === "decode" ? ["", "decode", ""] : ["round", now.round, `of ${L}`];
  middle.forEach((text, k) => { text.textContent = words[k]; });
  middle[1].setAttribute("style", now.phase === "decode" ? "font-size:30px" : "");
}
