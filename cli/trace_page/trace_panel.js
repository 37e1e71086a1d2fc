// The panel: the equations of one worker in the present round, what it has kept, and a sentence about the moment.
const element = id => document.getElementById(id);
const sub = (letter, ...indices) => `<span class="name"><i>${letter}</i><sub>${indices.join(",")}</sub></span>`;

function chip(term, mark = "") {
  const i = term[0];
  const hatch = {2: "repeating-linear-gradient(135deg,#fff8 0 2px,#0000 2px 6px)",
                 3: "repeating-linear-gradient(90deg,#fff8 0 2px,#0000 2px 6px)"}[family(i)];
  const colours = family(i) === 1 ? `background-color:${hue(i)}48;border-color:${hue(i)}` : `background-color:${hue(i)}`;
  const style = `${colours};color:${ink(i)}${hatch ? `;background-image:${hatch}` : ""}`;
  return `<span class="chip ${mark}" style="${style}">\u03b4<sub>${term[0]},${term[1]}</sub></span>`;
}

// The terms as chips; the term `home` is outlined, and struck out once it is gone.
function sum(terms, home, gone) {
  const mark = term => same(term, home) ? (gone ? "home struck" : "home") : "";
  return terms.map(term => chip(term, mark(term))).join('<span class="plus">+</span>') || "0";
}

function coefficients(worker, round) {
  if (!trace.encoders) return "";
  const row = trace.encoders[worker][round - 1];
  const shown = row.slice(0, 16).map(v => Number(v.toPrecision(3))).join(", ");
  const u = sub("u", worker, round);
  return `<span class="coefficients">${u} = (${shown}${row.length > 16 ? `, ${row.length - 16} more` : ""})</span>`;
}

// The round's equations in the order of its phases: {phase, what, html}.
function equationsOf(i, t, gone) {
  const step = trace.schedule[t - 1].steps[i];
  const s = sub("s", i, t), r = sub("r", i, t), o = sub("o", i, t);
  const kept = letter => step.kept.filter(k => k.vector === letter).map(k => sub(k.vector, i, k.round)).join(", ");
  const list = [];
  if (kept("s")) list.push({phase: "keep s", what: "keeps for decoding what it is about to send", html: kept("s")});
  const made = t === 1 ? coefficients(i, 1) : "";
  list.push({phase: "travel", what: `sends to worker ${step.sends_to}`, html: `${s} = ${sum(step.sent)}${made}`});
  list.push({phase: "travel", what: `receives from worker ${step.receives_from}`,
             html: `${r} = ${sub("s", step.receives_from, t)} = ${sum(step.received, step.removed, gone)}`});
  if (kept("r")) list.push({phase: "keep r", what: "keeps for decoding", html: kept("r")});
  const removed = step.removed ? ` \u2212 ${chip(step.removed)}` : "";
  list.push({phase: "remove", what: step.removed ? "removes its own returning contribution" : "nothing of its own to remove yet",
             html: `${o} = ${r}${removed} = ${sum(step.others)}`});
  if (kept("o")) list.push({phase: "keep o", what: "keeps for decoding", html: kept("o")});
  if (step.added) {
    list.push({phase: "add", what: "adds its next contribution",
               html: `${sub("s", i, t + 1)} = ${o} + ${chip(step.added)}${coefficients(i, t + 1)}`});
  }
  return list;
}

function decodingOf(i) {
  const kept = trace.decoding[i].kept;
  const vectors = kept.map(k => sub(k.vector, i, k.round));
  if (vectors.length > 6) vectors.splice(3, vectors.length - 4, "\u2026");
  const own = trace.decoder === "own-exact" ? sub("G", i) : "";
  const product = kept.length ? `[${vectors.join(" ")}] ${sub("R", i)}` : "";
  const shape = kept.length ? `${sub("R", i)} is ${kept.length} \u00d7 ${trace.chunks}` : "the own gradient is the sum already";
  return [{phase: "decode", what: `decodes; ${shape}`,
           html: `${sub("\u011d", i)} = ${own}${own && product ? " + " : ""}${product} ${N === 1 ? "=" : "\u2248"} \u03a3 ${sub("G", "k")}`}];
}

function drawEquations(now, selected) {
  const step = L > 0 ? trace.schedule[now.round - 1].steps[selected] : {sends_to: 0, receives_from: 0};
  element("neighbours").textContent =
      N === 1 ? "alone on its ring" : `receives from ${step.receives_from}, sends to ${step.sends_to}`;
  const list = now.phase === "decode" ? decodingOf(selected) : equationsOf(selected, now.round, now.done("remove") > 0);
  element("equations").innerHTML = list.map(e => {
    const state = e.phase === now.phase ? "now" : now.phase !== "decode" && now.done(e.phase) < 1 ? "later" : "";
    return `<div class="equation ${state}"><span class="what">${e.what}</span>${e.html}</div>`;
  }).join("");
}

function drawKept(now, selected) {
  element("kept-title").textContent = `Kept by worker ${selected}: ${now.kept} of ${K}`;
  const box = element("kept");
  box.innerHTML = trace.decoding[selected].kept.slice(0, now.kept)
      .map(k => `<div>${sub(k.vector, selected, k.round)} = ${sum(k.sum)}</div>`).join("");
  box.scrollTop = box.scrollHeight;
}

function caption(now) {
  const t = now.round, i = '<span class="name"><i>i</i></span>';
  const own = sub("\u03b4", "i", t - N + 1);
  switch (now.phase) {
    case "ready":
      return t === 1 ? `Every worker ${i} starts with its own encoded chunk: ${sub("s", "i", 1)} = ${sub("\u03b4", "i", 1)}.`
                     : `Every worker has added its next contribution: ${sub("s", "i", t)} = ${sub("o", "i", t - 1)} +
                        ${sub("\u03b4", "i", t)} is ready to go.`;
    case "travel":
      if (N === 1) return `Alone on its ring, the worker hears its own ${sub("s", 0, t)} again.`;
      return `Every worker sends its sum ${sub("s", "i", t)} to the next one. ` +
          (t < N ? `Messages are still growing: ${t} of ${N} contributions.`
                 : `Each is a sum over all ${N} workers; the outlined block is coming home.`);
    case "remove":
      return `The own contribution ${own} has been all the way round: each worker takes out the very bits it once added.`;
    case "keep s":
      return `Each worker keeps the first complete sum ${sub("s", "i", t)} for decoding.`;
    case "keep r":
      return `Each worker keeps ${sub("r", "i", t)} for decoding, its own contribution inside.`;
    case "keep o":
      return `Each worker keeps ${sub("o", "i", t)} for decoding` +
          (N === 1 ? ": nothing is left of it, there are no others." : ", a sum over other workers only.");
    case "add":
      return `Each worker adds its next contribution ${sub("\u03b4", "i", t + 1)}.`;
    default:
      if (K === 0) return "One worker: nothing is sent, its own gradient is the sum.";
      return trace.decoder === "own-exact"
          ? `The kept vectors times ${sub("R", "i")} give the others' sum; the own gradient is added, exact.`
          : `The kept vectors times ${sub("R", "i")} give the sum over all workers.`;
  }
}

let panelKey = "", keptKey = "";
function drawPanel(now, selected) {
  const key = `${selected} ${now.round} ${now.phase}`, nextKept = `${selected} ${now.kept}`;
  if (key !== panelKey) {
    drawEquations(now, selected);
    element("caption").innerHTML = caption(now);
    element("worker").value = selected;
  }
  if (nextKept !== keptKey) drawKept(now, selected);
  panelKey = key;
  keptKey = nextKept;
}

const round3 = value => Number(value.toPrecision(4));
element("facts").textContent = `${N} worker${N === 1 ? "" : "s"} \u00b7 ${trace.chunks} chunk${trace.chunks === 1 ? "" : "s"} \u00b7 ` +
    `L = c + N \u2212 2 = ${L} rounds \u00b7 rate L/c = ${round3(trace.rate)} (exact ring ${round3(trace.exact_ring_rate)}) \u00b7 ` +
    `${trace.decoder} decoding from ${K} kept vectors` + (labelled ? "" : " \u00b7 labels are in the panel: the ring is too full");
element("notation").open = innerHeight > 700 && K <= 8;
document.title = `cerar trace: ${N} workers, ${trace.chunks} chunks`;
for (let i = 0; i < N; ++i) element("worker").add(new Option(i, i));
