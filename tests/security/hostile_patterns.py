"""Matches every regular expression of the program against long hostile texts. Run as a program by a test.

A text is made from one that the expression accepts: its beginning, then one of its characters many times, then a
character that does not fit. An expression that tries every way to split the run again takes many seconds for such a
text, and the program ends with a traceback after `LIMIT_S` of its own time, however busy the machine is.
"""

import faulthandler
import importlib
import re
import signal
import sys
from collections import deque
from pathlib import Path
from typing import Any, Final

from tests.helpers.repository import ROOT

PACKAGES: Final = ("search_spaces", "runners", "objectives", "tuner")
LIMIT_S: Final = 10.0
"""How many seconds of CPU time one expression may take with all its texts. A sound one needs less than three."""
LENGTH: Final = 60_000
ACCEPTED: Final = (
    "mb_per_s >= 0.9e1 x baseline",
    "64.5 KiB",
    "07:00",
    "0.5e3",
    "3.6",
    "-12",
    "\\u00e9",
    "\\n",
    "00e9",
    "\r\n",
    "\ud83d\ude00",
    "lab-1.example",
    "a.b:1, c.d:2",
    "https://mlflow.example",
    "PATH",
    "PATH:-/bin",
    "${PATH}",
    "postgresql://user:word@host:5432/database?password=x",
    "host:5432",
    "[::1]:9092",
    "[fe80::1]",
    "?password=x",
    "sasl.password",
    "ssl.ca.location",
    "/* a */",
    "study:\n  name: a",
    '"a\\"b"',
    "-----BEGIN KEY-----\nAA\n-----END KEY-----",
    'version "25.0.1"',
    "tuner-20260301T200000-00000000-1",
    "%4|1|rdkafka#producer-1| [thrd:app]: ",
    "FAIL [rdkafka#producer-1] [thrd:main]: ",
    ", 1 identical error(s) suppressed",
    "ssl://host:9093/",
    "4.3.1",
    "Configuration property queue.buffering.max.ms is a producer property and will be ignored",
    "[main] INFO org.apache.kafka.clients.producer.KafkaProducer - [Producer clientId=producer-1] Closing",
    "kafka-tuner-broker-0123456789ab",
    "<!-- kafka-tuner 0123456789ab -->\n",
    "10 steady state records sent, 1.0 records/sec (1.0 MB/sec), 1.0 ms avg latency, 1.0 ms max latency, 1 ms 50th, "
    "1 ms 95th, 1 ms 99th, 1 ms 99.9th.",
)
"""Texts that the expressions accept: each expression accepts at least one of them."""


def main() -> None:
    """Match every expression. The exit code is 1 if an expression accepts none of the texts."""
    # A handler in Python would wait for the match to end.
    faulthandler.register(signal.SIGPROF, chain=True)
    made: list[tuple[str, re.Pattern[str]]] = []
    compiles = re.compile

    def noting(pattern: Any, flags: Any = 0) -> re.Pattern[Any]:
        compiled = compiles(pattern, flags)
        callers = [sys._getframe(depth).f_globals["__name__"] for depth in (2, 1)]
        ours = [name for name in callers if name.partition(".")[0] in PACKAGES]
        made.extend((name, compiled) for name in ours[:1])
        return compiled

    re.compile = noting
    for file in sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        if "re.compile(" in (source := file.read_text()) or "fields.text(" in source:
            importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    re.compile = compiles
    unknown = [f"{module}: {pattern!r}" for module, pattern in made if not _attack(module, pattern)]
    sys.exit(f"none of the texts is accepted by: {unknown}" if unknown else 0)


def _attack(module: str, pattern: re.Pattern[str]) -> bool:
    """Match one expression as its module does, and return whether it accepts one of the texts."""
    methods = _methods(module, pattern)
    texts = [text for text in ACCEPTED if (pattern.search if methods != {"fullmatch"} else pattern.fullmatch)(text)]
    sys.stdout.write(f"{module}: {pattern!r}\n")
    sys.stdout.flush()
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    for method in methods:
        match = getattr(pattern, method)
        for text in texts:
            for end in range(len(text) + 1):
                for unit in {text[max(0, end - 1) : end], text[end : end + 1], " "} - {""}:
                    hostile = text[:end] + unit * LENGTH + "\x00"
                    found = match("", hostile) if method == "sub" else match(hostile)
                    if method == "finditer":
                        deque(found, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return bool(texts)


def _methods(module: str, pattern: re.Pattern[str]) -> set[str]:
    loaded = sys.modules[module]
    source = Path(str(loaded.__file__)).read_text()
    names = [name for name, value in vars(loaded).items() if value is pattern]
    found = {
        method
        for name in names
        for method in re.findall(rf"\b{name}\.(fullmatch|match|search|findall|finditer|split|sub)\(", source)
    }
    return found or {"fullmatch"}


if __name__ == "__main__":
    main()
