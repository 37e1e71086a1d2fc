#!/usr/bin/env python3
"""Measures our rings, Gloo and Open MPI side by side and writes what `make bench` promises.

    suite.py --build build [--only PATTERN] [--rounds N]

A scenario is a link (the loopback, or hosts of `cerar netlab` at a rate), a number of workers, a size and contenders.
Contenders take turns, round by round; of each the median over its repetitions counts for the round. A row compares two
contenders of one scenario, or one with the goodput bound: the ratio is formed round by round, its median is the value
and its least and largest are low and high. Results: summary.json, times.csv, tables.md and pictures in BUILD/bench.
"""

import argparse
import csv
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
MiB = 1 << 20


class Link:
    def __init__(self, name, rate_bits=None, mtu=1500):
        self.name, self.rate_bits, self.mtu = name, rate_bits, mtu

    def bound_us(self, workers, size):
        """Time of the bandwidth bound 2 (N - 1) / N at TCP's goodput over Ethernet."""
        goodput = self.rate_bits / 8 * (self.mtu - 52) / (self.mtu + 14)
        return 1e6 * 2 * (workers - 1) / workers * size / goodput


LOOPBACK = Link("loopback")
LINKS = {rate: Link(f"{rate:g} Gbit/s", rate * 1e9, 9000 if rate >= 5 else 1500) for rate in (0.1, 1, 2.5, 5, 10)}


class Bench:
    def __init__(self, build, rounds):
        self.build, self.rounds = Path(build).resolve(), rounds
        self.out = self.build / "bench"
        self.out.mkdir(parents=True, exist_ok=True)
        self.cerar = str(self.build / "cerar")
        self.times, self.rows = [], []

    def code(self, workers, chunks, piggyback=False):
        path = self.out / f"{'piggyback' if piggyback else 'coded'}_{workers}_{chunks}.json"
        if not path.exists():
            command = [self.cerar, "fit", "--workers", str(workers), "--chunks", str(chunks), "-o", str(path)]
            subprocess.run(command + (["--construction", "piggyback"] if piggyback else []), check=True,
                           stdout=subprocess.DEVNULL)
        return str(path)

    def command(self, contender, link, workers, size, repetitions, back_to_back, scratch):
        """The command of one turn, and the file its results are in, if not on its standard output."""
        kind, _, detail = contender.partition(" ")
        common = ["--sizes", str(size), "--warmup", str(1 if size > MiB else 10), "--iterations", str(repetitions),
                  "--back-to-back", str(back_to_back)]
        on_hosts = [] if link is LOOPBACK else [self.cerar, "netlab", "--workers", str(workers), "--rate",
                                                f"{link.rate_bits / 1e6:g}Mbit", "--mtu", str(link.mtu)]
        launch = [self.cerar, "launch", "-n", str(workers), "--"] if link is LOOPBACK else on_hosts + ["--"]
        if kind == "cerar":
            results = scratch / "cerar.json"
            command = launch + [self.cerar, "bench", "--no-checks"] + common + ["--json", str(results)]
            algorithm, _, chunks = detail.partition(" ")
            if chunks:
                command += ["--code", self.code(workers, int(chunks), algorithm == "piggyback")]
            return command + ["--algorithms", algorithm], results
        if kind == "gloo":
            store = scratch / "store"
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir()
            where = [] if link is LOOPBACK else ["--interface", "eth0"]
            return launch + [str(self.build / "bench_gloo"), "--store", str(store), "--algorithms", detail] + common + where, None
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(workers), "--mca", "btl", "tcp,self"]
        if detail == "ring":
            mpirun += ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", "4"]
        mpirun_end = [str(self.build / "bench_mpi")] + common
        if link is LOOPBACK:
            return mpirun + mpirun_end, None
        hosts = ",".join(f"host{k}" for k in range(workers))
        # Open MPI takes the hosts for machines with cores of their own and would spin: say that they share these.
        mpirun += ["-H", hosts, "--mca", "mpi_yield_when_idle", "1", "--mca", "btl_tcp_if_include", "eth0", "--mca",
                   "oob_tcp_if_include", "eth0"]
        inside = " ".join(mpirun) + ' --mca plm_rsh_agent "$CERAR_NETLAB_AGENT" ' + " ".join(mpirun_end)
        return on_hosts + ["--once", "--", "sh", "-c", inside], None

    def turn(self, contender, link, workers, size, repetitions, back_to_back):
        """Times in us of one turn. Raises Skip with the reason where this machine cannot run it."""
        with tempfile.TemporaryDirectory() as folder:
            command, results = self.command(contender, link, workers, size, repetitions, back_to_back, Path(folder))
            program = Path(command[-1] if command[-2:-1] == ["-c"] else command[0])
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            except FileNotFoundError:
                raise Skip(f"{program.name} is not installed")
            if done.returncode == SKIPPED:
                raise Skip(done.stderr.strip().splitlines()[-1])
            if done.returncode != 0:
                raise Skip(f"{contender} ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
            if results:
                row = json.loads(results.read_text())["rows"][0]
            else:
                lines = [line.removeprefix("[0] ") for line in done.stdout.splitlines()]
                row = next(json.loads(line) for line in lines if line.startswith("{"))
            return row

    def run(self, link, workers, size, contenders, repetitions=5, back_to_back=1):
        """Contenders' medians by round; those that cannot run are left out, with the reason in `skipped`."""
        medians, skipped = {contender: [] for contender in contenders}, {}
        for number in range(self.rounds):
            for contender in contenders:
                if contender in skipped:
                    continue
                tell(f"{link.name}, {workers} workers, {size} B, round {number + 1} of {self.rounds}: {contender}")
                try:
                    row = self.turn(contender, link, workers, size, repetitions, back_to_back)
                except Skip as reason:
                    skipped[contender] = str(reason)
                    del medians[contender]
                    continue
                medians[contender].append(statistics.median(row["times_us"]))
                for repetition, time in enumerate(row["times_us"]):
                    self.times.append([link.name, workers, size, contender, number, repetition, f"{time:.3f}",
                                       row.get("wire_bytes", ""), row.get("cpu_us", ""), f"{os.getloadavg()[0]:.2f}"])
        self.write()
        return medians, skipped

    def row(self, name, values, target=None, above=False, skipped=None):
        entry = {"name": name, "value": None, "low": None, "high": None, "target": target, "met": None}
        if values:
            value = statistics.median(values)
            entry.update(value=round(value, 4), low=round(min(values), 4), high=round(max(values), 4))
            if target is not None:
                entry["met"] = value >= target if above else value <= target
        if skipped:
            entry["skipped"] = skipped
        self.rows.append(entry)
        self.write()

    def write(self):
        machine = {"processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(),
                   "load_average": os.getloadavg()[0], "rounds": self.rounds,
                   "version": subprocess.run([self.cerar, "--version"], capture_output=True, text=True).stdout.strip()}
        write_whole(self.out / "summary.json", json.dumps({"machine": machine, "rows": self.rows}, indent=1) + "\n")
        with open(self.out / "times.csv.part", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow("link workers size_bytes contender round repetition time_us wire_bytes cpu_us load".split())
            writer.writerows(self.times)
        (self.out / "times.csv.part").replace(self.out / "times.csv")
        lines = ["| what | median | low | high | target | |", "| --- | --- | --- | --- | --- | --- |"]
        for row in self.rows:
            verdict = {True: "met", False: "missed", None: row.get("skipped", "")}[row["met"]]
            lines.append("| " + " | ".join(str("" if row[key] is None else row[key])
                                           for key in ("name", "value", "low", "high", "target")) + f" | {verdict} |")
        write_whole(self.out / "tables.md", "\n".join(lines) + "\n")


class Skip(Exception):
    pass


def tell(sentence):
    if sys.stderr.isatty():
        print(f"\r\033[K{sentence}", end="", file=sys.stderr, flush=True)


def write_whole(path, text):
    part = path.with_suffix(path.suffix + ".part")
    part.write_text(text)
    part.replace(path)


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def ratios(medians, one, others):
    """Of each round: `one` over the fastest of `others`."""
    others = [other for other in others if other in medians]
    if one not in medians or not others:
        return []
    return [mine / min(medians[other][k] for other in others) for k, mine in enumerate(medians[one])]


GLOO = ["gloo allreduce-ring", "gloo ring-chunked"]
MPI = ["open-mpi default", "open-mpi ring"]


def exact_on_link(bench, rate, workers):
    size, link = 64 * MiB, LINKS[rate]
    contenders = ["cerar exact"] + GLOO + ["open-mpi ring"]
    medians, skipped = bench.run(link, workers, size, contenders, repetitions=2 if rate < 1 else 4)
    where = f"64 MB, N={workers}, {link.name}"
    bound = link.bound_us(workers, size)
    reason = skipped.get("cerar exact")
    bench.row(f"exact ring, {where}: fraction of the goodput bound", [bound / t for t in medians.get("cerar exact", [])],
              0.98, above=True, skipped=reason)
    bench.row(f"exact ring over Gloo's best, {where}", ratios(medians, "cerar exact", GLOO), 1.0,
              skipped=reason or skipped.get(GLOO[0]))
    bench.row(f"exact ring over Open MPI's ring, {where}", ratios(medians, "cerar exact", ["open-mpi ring"]), 0.98,
              skipped=reason or skipped.get("open-mpi ring"))


def loopback(bench, workers, chunks, piggyback_chunks):
    size = 64 * MiB
    coded, piggyback = f"cerar coded {chunks}", f"cerar piggyback {piggyback_chunks}"
    medians, skipped = bench.run(LOOPBACK, workers, size, ["cerar exact", coded, piggyback] + GLOO + MPI)
    where = f"64 MB, N={workers}, loopback"
    reason = skipped.get(GLOO[0]) or skipped.get(MPI[0])
    bench.row(f"exact ring over the best of Gloo and Open MPI, {where}", ratios(medians, "cerar exact", GLOO + MPI), 0.8,
              skipped=reason)
    bench.row(f"piggyback c={piggyback_chunks} over the best exact all-reduce, {where}",
              ratios(medians, piggyback, ["cerar exact"] + GLOO + MPI), 0.85, skipped=reason)
    bench.row(f"coded c={chunks} over exact, {where}", ratios(medians, coded, ["cerar exact"]))


def fast_link(bench):
    size, link = 64 * MiB, LINKS[10]
    medians, skipped = bench.run(link, 4, size, ["cerar exact"] + GLOO + ["open-mpi ring"])
    bench.row("exact ring over the best of Gloo and Open MPI, 64 MB, N=4, 10 Gbit/s, MTU 9000",
              ratios(medians, "cerar exact", GLOO + ["open-mpi ring"]), 0.8,
              skipped=skipped.get("cerar exact") or skipped.get(GLOO[0]))


def codes_on_link(bench, workers, codes):
    size, link = 64 * MiB, LINKS[1]
    names = [f"cerar {kind} {chunks}" for kind, chunks, _ in codes]
    medians, skipped = bench.run(link, workers, size, ["cerar exact"] + names, repetitions=3)
    for (kind, chunks, target), name in zip(codes, names):
        ideal = (chunks + workers - 2) / chunks / (2 * (workers - 1) / workers)
        bench.row(f"{kind} c={chunks} over exact, 64 MB, N={workers}, 1 Gbit/s (ideal {ideal:.3f})",
                  ratios(medians, name, ["cerar exact"]), target, skipped=skipped.get(name))


def break_even(bench):
    """Coded over exact against the rate of the link; where it passes 1 the code no longer pays."""
    points = []
    for rate, link in LINKS.items():
        if rate < 1:
            continue
        medians, skipped = bench.run(link, 4, 64 * MiB, ["cerar exact", "cerar coded 12", "cerar piggyback 32"],
                                     repetitions=4)
        coded, piggyback = (ratios(medians, name, ["cerar exact"]) for name in ("cerar coded 12", "cerar piggyback 32"))
        bench.row(f"coded c=12 over exact, 64 MB, N=4, {link.name}, MTU {link.mtu}", coded,
                  skipped=skipped.get("cerar coded 12"))
        bench.row(f"piggyback c=32 over exact, 64 MB, N=4, {link.name}, MTU {link.mtu}", piggyback,
                  skipped=skipped.get("cerar piggyback 32"))
        if coded and piggyback:
            points.append((rate, statistics.median(coded), statistics.median(piggyback)))
    crossing = None
    for (rate, ratio, _), (next_rate, next_ratio, _) in zip(points, points[1:]):
        if ratio <= 1 < next_ratio:
            crossing = rate + (next_rate - rate) * (1 - ratio) / (next_ratio - ratio)
    if points and crossing is None and points[-1][1] <= 1:
        crossing = points[-1][0]
    bench.row("link rate up to which coded c=12 pays, N=4, Gbit/s (linear between measured rates)",
              [crossing] if crossing else [], 10, above=True)
    plot_rates(bench, points, crossing)


def small(bench, link, workers):
    medians, skipped = bench.run(link, workers, 4096, ["cerar auto", "open-mpi default"], repetitions=10, back_to_back=100)
    bench.row(f"4 KB, N={workers}, {link.name}, over Open MPI's default", ratios(medians, "cerar auto", ["open-mpi default"]),
              1.0, skipped=skipped.get("cerar auto") or skipped.get("open-mpi default"))


def bytes_and_memory(bench):
    row = bench.turn("cerar exact", LOOPBACK, 4, 64 * MiB, 1, 1)
    bound = 2 * 3 * 64 * MiB // 4
    bench.row("exact ring, 64 MB, N=4: bytes beyond the bound and one header of 48", [row["wire_bytes"] - bound - 48], 0)
    row = bench.turn("cerar coded 20", LOOPBACK, 8, 256 * MiB, 1, 1)
    bench.row("coded c=20, 256 MB, N=8: extra memory, MB", [row["extra_memory_bytes"] / 1e6], 32)


def against_size(bench):
    sizes = [4 ** k for k in range(4, 14)]
    contenders = ["cerar auto", "cerar exact", "open-mpi default", "open-mpi ring"]
    table = []
    for size in sizes:
        medians, _ = bench.run(LOOPBACK, 4, size, contenders, repetitions=10, back_to_back=20 if size < MiB else 1)
        table.append([size] + [statistics.median(medians[c]) if medians.get(c) else None for c in contenders])
    plot_sizes(bench, contenders, table)


def gnuplot(script):
    try:
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        print(f"suite.py: a picture is left out: {error}", file=sys.stderr)


STYLE = """set terminal pngcairo size 900,540 font 'DejaVu Sans,11'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key top left
"""


def plot_rates(bench, points, crossing):
    if len(points) < 2:
        return
    data = "\n".join(" ".join(map(str, point)) for point in points)
    marked = f"set arrow from {crossing},graph 0 to {crossing},graph 1 nohead dt 3 lc rgb '#555555'\n" if crossing else ""
    gnuplot(f"""{STYLE}set output '{bench.out}/ratio_against_rate.png'
set logscale x
set xtics (1, 2.5, 5, 10)
set xlabel 'link rate, Gbit/s'
set ylabel 'time over the exact ring''s, 64 MB, 4 workers'
{marked}$data << END
{data}
END
plot $data u 1:2 w lp pt 7 lw 2 lc rgb '#1f77b4' t 'coded, c = 12', $data u 1:3 w lp pt 5 lw 2 lc rgb '#d62728' t 'piggyback, c = 32', \\
 0.7778 dt 2 lc rgb '#1f77b4' t 'ideal, coded', 0.7083 dt 2 lc rgb '#d62728' t 'ideal, piggyback', 1 lc rgb '#555555' t 'exact ring'
""")


def plot_sizes(bench, contenders, table):
    data = "\n".join(" ".join("?" if x is None else str(x) for x in line) for line in table)
    colours = ["#1f77b4", "#2ca02c", "#d62728", "#ff7f0e"]
    lines = ", ".join(f"$data u 1:{k + 2} w lp pt 7 lw 2 lc rgb '{colours[k]}' t '{name}'"
                      for k, name in enumerate(contenders))
    gnuplot(f"""{STYLE}set output '{bench.out}/time_against_size.png'
set datafile missing '?'
set logscale xy
set format x '10^{{%T}}'
set xlabel 'vector, bytes'
set ylabel 'time of an all-reduce, us (loopback, 4 workers)'
$data << END
{data}
END
plot {lines}
""")


def scenarios():
    yield "bytes and memory", bytes_and_memory
    for workers in (4, 8):
        for link in (LOOPBACK, LINKS[1]):
            yield f"small {workers} {link.name}", lambda b, n=workers, l=link: small(b, l, n)
    yield "loopback 4", lambda b: loopback(b, 4, 12, 32)
    yield "loopback 8", lambda b: loopback(b, 8, 24, 64)
    yield "codes 4", lambda b: codes_on_link(b, 4, [("coded", 12, 0.79), ("piggyback", 32, 0.72)])
    yield "codes 8", lambda b: codes_on_link(b, 8, [("coded", 20, 0.765), ("coded", 24, 0.74), ("piggyback", 64, 0.645)])
    for rate, workers in ((1, 4), (1, 8), (2.5, 4), (0.1, 4)):
        yield f"exact {workers} {rate:g}", lambda b, r=rate, n=workers: exact_on_link(b, r, n)
    yield "fast link", fast_link
    yield "break-even", break_even
    yield "against size", against_size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=3, help="turns of every contender (default 3)")
    parser.add_argument("--only", nargs="+", default=[""], help="scenarios whose names contain one of these, in this order")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; at least 1 is needed")
    bench = Bench(options.build, options.rounds)
    chosen = [(name, scenario) for only in options.only for name, scenario in scenarios() if only in name]
    if not chosen:
        parser.error(f"no scenario's name contains {options.only}; there are {', '.join(n for n, _ in scenarios())}")
    try:
        for _, scenario in chosen:
            scenario(bench)
    except KeyboardInterrupt:
        print(f"\nsuite.py: interrupted; what was measured is in {bench.out}", file=sys.stderr)
        return 130
    tell("")
    print((bench.out / "tables.md").read_text())
    missed = [row["name"] for row in bench.rows if row["met"] is False]
    print(f"{len(bench.rows)} rows, {len(missed)} below target; {bench.out}/summary.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
