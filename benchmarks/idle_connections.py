"""Holds connections to a service without ever sending a whole request, as a careless or hostile client does.

python -m benchmarks.idle_connections PORT COUNT

Half of the connections stay silent, the others send the beginning of a request. A connection that the service closes
is opened again a second later. The program writes one line when all have been opened, and ends when its standard input
is closed.
"""

import asyncio
import resource
import sys
from contextlib import suppress
from itertools import count

_AGAIN_S = 1.0
"""How long after its end a connection is opened again."""
_OWN_FILES = 50
"""How many files the process needs besides its connections."""


def main() -> None:
    """Hold the connections until the standard input is closed."""
    port, wanted = map(int, sys.argv[1:])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    may = wanted + _OWN_FILES if hard == resource.RLIM_INFINITY else min(wanted + _OWN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (may, hard))
    held = min(wanted, may - _OWN_FILES)
    if held < wanted:
        print(f"only {held} connections instead of {wanted}: this user may open {may} files", file=sys.stderr)
    asyncio.run(_hold(port, held))


async def _hold(port: int, held: int) -> None:
    opened = count(1)

    async def stay(number: int) -> None:
        first = True
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                if first and next(opened) == held:
                    print(f"{held} idle connections", flush=True)
                first = False
                try:
                    if number % 2:
                        writer.write(b"GET /v1/recommendation HTTP/1.1\r\n")
                    await reader.read()
                finally:
                    writer.transport.abort()
            await asyncio.sleep(_AGAIN_S)

    staying = [asyncio.create_task(stay(number)) for number in range(held)]
    await asyncio.to_thread(sys.stdin.read)
    for each in staying:
        each.cancel()


if __name__ == "__main__":
    main()
