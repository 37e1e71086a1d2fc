// The player: time, controls, keyboard and the URL's hash. Time is one number: round t is [t, t + 1), decoding [L + 1, L + 2].
const start = L > 0 ? 1 : 2, finish = L + 2;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// What happens in round t, in order, each with its share of the round.
function planRound(t) {
  const step = trace.schedule[t - 1].steps[0];
  const keeps = letter => step.kept.some(k => k.vector === letter);
  const phases = [];
  if (keeps("s")) phases.push({name: "keep s", weight: 1.2});
  phases.push({name: "travel", weight: 2});
  if (keeps("r")) phases.push({name: "keep r", weight: 1.2});
  if (step.removed) phases.push({name: "remove", weight: 1.2});
  if (keeps("o")) phases.push({name: "keep o", weight: 1.2});
  if (step.added) phases.push({name: "add", weight: 1});
  const total = phases.reduce((sum, phase) => sum + phase.weight, 0);
  let at = t;
  for (const phase of phases) {
    phase.from = at;
    at = phase.to = phase === phases[phases.length - 1] ? t + 1 : at + phase.weight / total;
  }
  return phases;
}

const plan = Array.from({length: L}, (_, k) => planRound(k + 1));
const stops = [start, ...plan.flat().map(phase => phase.to), finish];
const keepPhases = plan.flat().filter(phase => phase.name.startsWith("keep"));

// The moment x, as drawRing and drawPanel want it.
function moment(x) {
  if (L === 0 || x > L + 1) {
    return {round: L, phase: "decode", progress: 1, done: () => 1, kept: K, decoded: L === 0 ? 1 : x - L - 1};
  }
  const round = Math.min(L, Math.floor(x));
  const phases = plan[round - 1];
  const current = phases.find(phase => x > phase.from && x <= phase.to);
  const progress = current ? (x - current.from) / (current.to - current.from) : 0;
  const done = phase => {
    const found = phases.find(p => p.name === phase);
    if (found) return Math.min(1, Math.max(0, (x - found.from) / (found.to - found.from)));
    const travel = phases.find(p => p.name === "travel");
    return phase === "remove" && x >= travel.to ? 1 : 0;  // nothing to remove: done once the message is there
  };
  const kept = keepPhases.filter(phase => phase.to <= x).length;
  const keeping = current && current.name.startsWith("keep") ? keepPhases.indexOf(current) : undefined;
  return {round, phase: current ? current.name : "ready", progress, done, kept, keeping, decoded: 0};
}

let x = start, selected = trace.selected_worker || 0, playing = false, running = false, target, clock;

function show() {
  const now = moment(x);
  drawRing(now, selected);
  drawPanel(now, selected);
  element("slider").value = x;
  element("position").textContent = now.phase === "decode" ? "decoding" : `round ${now.round} of ${L}`;
  element("play").textContent = playing ? "Pause" : "Play";
  element("back").disabled = element("first").disabled = x <= start;
  element("next").disabled = x >= finish;
}

function remember() {
  const now = moment(x);
  const place = now.phase === "decode" ? "round=decode" : `round=${now.round}`;
  const phase = ["ready", "decode"].includes(now.phase) ? "" : `&phase=${now.phase.split(" ")[0]}`;
  try { history.replaceState(null, "", `#${place}${phase}&worker=${selected}`); } catch { /* some viewers forbid it */ }
}

function recall() {
  playing = false;
  target = undefined;
  const hash = new URLSearchParams(location.hash.slice(1));
  const worker = Number(hash.get("worker") ?? selected);
  if (Number.isInteger(worker) && worker >= 0 && worker < N) selected = worker;
  const round = hash.get("round");
  if (round === "decode") x = finish;
  else if (round !== null && L > 0) {
    const given = Math.min(L + 0.999, Math.max(1, Number(round) || 1)), t = Math.floor(given);
    const phase = plan[t - 1].find(p => p.name.split(" ")[0] === hash.get("phase"));
    x = phase ? phase.to - (phase.to === t + 1 ? 1e-6 : 0) : given;  // a fraction is a moment within the round
  }
  show();
}

const speed = () => Number(element("speed").value);

function frame(time) {
  running = playing || target !== undefined;
  if (!running) return;
  const passed = clock === undefined ? 0 : Math.min(0.1, (time - clock) / 1000);
  clock = time;
  if (target !== undefined) {
    const pace = passed * Math.max(0.6, speed());
    x = target > x ? Math.min(target, x + pace) : Math.max(target, x - 3 * pace);
    if (x === target) { target = undefined; remember(); }
  } else {
    x = Math.min(finish, x + passed * speed());
    if (x >= finish) pause();
  }
  show();
  requestAnimationFrame(frame);
}

function run() {
  if (running) return;
  running = true;
  clock = undefined;
  requestAnimationFrame(frame);
}

function pause() {
  playing = false;
  remember();
  show();
}

// With reduced motion, playing shows one still after the other.
function playCalmly() {
  if (!playing) return;
  x = stops.find(stop => stop > x + 1e-9) ?? finish;
  if (x >= finish) return pause();
  show();
  setTimeout(playCalmly, 600 / speed());
}

function togglePlay() {
  if (playing) return pause();
  if (x >= finish) x = start;
  target = undefined;
  playing = true;
  show();
  if (calm.matches) setTimeout(playCalmly, 400);
  else run();
}

function go(to) {
  playing = false;
  target = undefined;
  if (calm.matches || Math.abs(to - x) > 1.01) {
    x = to;
    remember();
    return show();
  }
  target = to;
  show();
  run();
}

const here = () => target ?? x;
const stepOn = () => go(stops.find(stop => stop > here() + 1e-5) ?? finish);
const stepBack = () => go([...stops].reverse().find(stop => stop < here() - 1e-5) ?? start);
const roundOn = () => go(Math.min(finish, Math.floor(here() + 1e-5) + 1));
const roundBack = () => go(Math.max(start, Math.ceil(here() - 1e-5) - 1));
const choose = worker => { selected = (worker + N) % N; remember(); show(); };

const keys = {
  ArrowRight: event => event.shiftKey ? roundOn() : stepOn(), ArrowLeft: event => event.shiftKey ? roundBack() : stepBack(),
  ArrowUp: () => choose(selected - 1), ArrowDown: () => choose(selected + 1),
  PageDown: roundOn, PageUp: roundBack, Home: () => go(start), End: () => go(finish), " ": togglePlay,
};
addEventListener("keydown", event => {
  const inList = event.target.tagName === "SELECT" || event.target.id === "kept";
  if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey || inList) return;
  if (event.key === " " && ["BUTTON", "SUMMARY"].includes(event.target.tagName) && event.target.id !== "play") return;
  event.preventDefault();
  keys[event.key](event);
});

element("first").onclick = () => go(start);
element("back").onclick = stepBack;
element("next").onclick = stepOn;
element("play").onclick = togglePlay;
element("play").onkeyup = event => { if (event.key === " ") event.preventDefault(); };
element("slider").min = start;
element("slider").max = finish;
element("slider").oninput = event => { playing = false; target = undefined; x = Number(event.target.value); show(); };
element("slider").onchange = remember;
element("worker").onchange = event => choose(Number(event.target.value));
svg.addEventListener("click", event => {
  const node = event.target.closest(".worker");
  if (node) choose(Number(node.dataset.worker));
});
addEventListener("hashchange", recall);

function drawStretches() {
  const parts = [];
  if (N > 1 && L > 0) parts.push([N - 1, N === 2 ? "1: grow" : `1\u2013${N - 1}: messages grow`, ""]);
  if (L >= N) parts.push([L - N + 1, `${N}\u2013${L}: own contributions return and are removed`, "full"]);
  parts.push([1, "decode", ""]);
  element("stretches").innerHTML =
      parts.map(([share, text, kind]) => `<span class="${kind}" style="flex:${share} 1 0" title="${text}">${text}</span>`).join("");
}

drawStretches();
recall();
