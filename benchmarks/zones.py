"""Measures the error of the proxy that imitates a link between two zones: its delays, its bandwidths and its CPU time.

python -m benchmarks.zones [--seconds 10]

A client exchanges messages with a peer over loopback, with and without the proxy in between. Both are on one host, so
the delays of both directions can be measured with the same clock.

1. Delays: small messages are sent at random times. The delay that the proxy adds is the time that a message takes
   through the proxy, minus the median time without the proxy. The error is the added delay minus the configured delay.
2. Bandwidths: one side sends without pause, and the other counts what arrives.
3. No limit: the same without a bandwidth, and without the proxy.
"""

import sys
import time
from contextlib import nullcontext
from typing import Final

import numpy as np
import psutil

from benchmarks.evidence import benchmark_parser, positive_number, run_benchmark
from benchmarks.peers.loopback_peer import (
    MESSAGE_BYTES,
    MESSAGES_PER_S,
    echoed,
    peer,
    received_mb_per_s,
    sending,
    sent_mb_per_s,
)
from runners.zones.link import Link
from runners.zones.zoned_cluster import ProxyProcess

DELAYS_MS: Final = (0.5, 1.0, 5.0, 20.0)
BESIDE: Final = ((1.0, 20.0), (5.0, 100.0))
"""Pairs of a delay in milliseconds and the MB/s that another connection sends meanwhile."""
BANDWIDTHS_MB_PER_S: Final = (10.0, 50.0, 200.0)
MAX_P50_ERROR_MS: Final = 0.1
MAX_P99_ERROR_MS: Final = 1.0
MAX_BANDWIDTH_ERROR_RATIO: Final = 0.02


def main() -> None:
    """Measure and print the tables; the exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--seconds", type=positive_number, default=10.0, help="of each measurement (default: 10)")
    asked = parser.parse_args()
    with peer() as port, peer() as sink:
        goals = [_delays(port, sink, asked.seconds), _bandwidths(port, asked.seconds)]
        _without_limit(port, asked.seconds)
    sys.exit(0 if all(goals) else 1)


def _delays(peer_port: int, sink_port: int, seconds: float) -> bool:
    print("| one way | beside it | there, p50 | p99 | back, p50 | p99 | round trip, p50 | p99 | CPU |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    kept = True
    for delay_ms, beside_mb_per_s in ((0.0, 0.0), *((delay_ms, 0.0) for delay_ms in DELAYS_MS), *BESIDE):
        with (
            _Proxied(Link.symmetric(delay_ms), peer_port, sink_port) as proxied,
            sending(proxied.ports[1], beside_mb_per_s) if beside_mb_per_s else nullcontext(),
        ):
            before = echoed(peer_port, seconds / 2)
            proxied.begin()
            through = echoed(proxied.ports[0], seconds)
            cpu_ratio = proxied.cpu_ratio()
            direct = np.concatenate((before, echoed(peer_port, seconds / 2)), axis=1)
        cells = []
        for taken, without, asked_ms in zip(through, direct, (delay_ms, delay_ms, 2 * delay_ms), strict=True):
            errors = taken - np.median(without) - asked_ms
            p50, p99 = float(np.median(errors)), float(np.percentile(np.abs(errors), 99))
            cells += [f"{p50:+.3f} ms", f"{p99:.3f} ms"]
            kept &= not delay_ms or (abs(p50) <= MAX_P50_ERROR_MS and p99 <= MAX_P99_ERROR_MS)
        beside = f"{beside_mb_per_s:g} MB/s" if beside_mb_per_s else ""
        print(f"| {delay_ms:g} ms | {beside} | {' | '.join(cells)} | {cpu_ratio:.0%} |", flush=True)
    print(
        f"\nThe error of the delay, with {MESSAGES_PER_S:,.0f} messages of {MESSAGE_BYTES} B a second; p99 is that of "
        "the absolute error. *Beside it*: what another connection sends through the same proxy meanwhile. *CPU*: the "
        f"proxy's share of one core. Goal (p50 within {MAX_P50_ERROR_MS:g} ms and p99 within {MAX_P99_ERROR_MS:g} ms, "
        f"for delays from {DELAYS_MS[0]:g} ms on): {_word(kept)}\n"
    )
    return kept


def _bandwidths(peer_port: int, seconds: float) -> bool:
    print("| bandwidth | one way | to the broker | error | CPU | to the client | error | CPU |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    kept = True
    for asked in BANDWIDTHS_MB_PER_S:
        for delay_ms in (0.0, 5.0):
            cells = []
            with _Proxied(Link.symmetric(delay_ms, asked), peer_port) as proxied:
                for measure in (sent_mb_per_s, received_mb_per_s):
                    proxied.begin()
                    found = measure(proxied.ports[0], seconds)
                    error = found / asked - 1
                    kept &= abs(error) <= MAX_BANDWIDTH_ERROR_RATIO
                    cells += [f"{found:.2f} MB/s", f"{error:+.2%}", f"{proxied.cpu_ratio():.0%}"]
            print(f"| {asked:g} MB/s | {delay_ms:g} ms | {' | '.join(cells)} |", flush=True)
    print(f"\nGoal (within {MAX_BANDWIDTH_ERROR_RATIO:.0%}): {_word(kept)}\n")
    return kept


def _without_limit(peer_port: int, seconds: float) -> None:
    print("| no limit | to the broker | CPU | to the client | CPU |")
    print("| --- | ---: | ---: | ---: | ---: |")
    direct = (measure(peer_port, seconds) for measure in (sent_mb_per_s, received_mb_per_s))
    print(f"| without the proxy | {' | '.join(f'{found:,.0f} MB/s | ' for found in direct)} |", flush=True)
    for delay_ms in (0.0, 5.0):
        cells = []
        with _Proxied(Link.symmetric(delay_ms), peer_port) as proxied:
            for measure in (sent_mb_per_s, received_mb_per_s):
                proxied.begin()
                found = measure(proxied.ports[0], seconds)
                cells += [f"{found:,.0f} MB/s", f"{proxied.cpu_ratio():.0%}"]
        print(f"| through the proxy, {delay_ms:g} ms | {' | '.join(cells)} |", flush=True)


def _word(kept: bool) -> str:
    return "met" if kept else "missed"


class _Proxied:
    """A proxy before peers, as a context manager, and the CPU time that it uses.

    Attributes:
        ports: The ports of the proxy.
    """

    def __init__(self, link: Link, *targets: int) -> None:
        self._proxy = ProxyProcess(link, len(targets))
        self.ports = self._proxy.ports
        self._proxy.connect(targets)
        self.begin()

    def begin(self) -> None:
        """Start to count the CPU time of the proxy."""
        self._used_s, self._began = self._cpu_s(), time.monotonic()

    def cpu_ratio(self) -> float:
        """Return the share of one core that the proxy has used since `begin`."""
        return (self._cpu_s() - self._used_s) / (time.monotonic() - self._began)

    def _cpu_s(self) -> float:
        times = psutil.Process(self._proxy.pid).cpu_times()
        return float(times.user + times.system)

    def __enter__(self) -> "_Proxied":
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.close()


if __name__ == "__main__":
    run_benchmark(main)
