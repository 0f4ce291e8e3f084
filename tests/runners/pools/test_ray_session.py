"""The Ray that we start serves only this host and only clients with our token, whatever the environment says."""

import contextlib
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runners.errors import GeneratorError
from runners.host_processes.folders import cache_root
from runners.pools.ray_cluster import RayCluster
from runners.pools.ray_session import running_ray
from runners.reporting import silent

pytestmark = pytest.mark.campaign

DRIVER = Path(__file__).parent / "own_ray_driver.py"
CLIENT = """
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    client = GcsClient(address=sys.argv[1])
    client.internal_kv_put(b"key", b"value", True, None, timeout=30)
    print(client.internal_kv_get(b"key", None, timeout=30).decode())
except AuthenticationError:
    print("refused")
"""
OTHERS_TOKEN = "a-token-of-another-cluster-0123456789"
HOSTILE = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_AUTH_TOKEN": OTHERS_TOKEN,
    "RAY_ADDRESS": "192.0.2.77:6379",
    "RAY_REDIS_ADDRESS": "192.0.2.77:6379",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
    "RAY_JOB_CONFIG_JSON_ENV_VAR": "no JSON",  # by this name, Ray takes a job's config from its job server
    "RAY_RUNTIME_ENV_HOOK": "no.such.hook",
}


def environ(variables: Mapping[str, str]) -> dict[str, str]:
    rest = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache_root() / "bytecode")}
    return {**rest, **bytecode, "RAY_USAGE_STATS_ENABLED": "0", **variables}


@contextlib.contextmanager
def own_ray_in(home: Path, variables: Mapping[str, str], *imported: str) -> Iterator[dict[str, Any]]:
    """Start our own Ray in another process, which imports the modules `imported` before."""
    command = [sys.executable, str(DRIVER), str(home), *imported]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ(variables), stdin=pipe, stdout=pipe, text=True) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        try:
            yield json.loads(driver.stdout.readline())
        finally:
            driver.stdin.close()
    assert driver.returncode == 0


def test_no_other_user_can_enter_the_folder_of_our_ray(tmp_path: Path) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as short,
        own_ray_in(tmp_path / "home", {"TMPDIR": short}) as ray,
    ):
        assert ray["worked"] == "worked"
        assert list(ray["folders"].values()) == ["drwx------"]
        (folder,) = ray["folders"]
        assert list(Path(folder).glob("r/session_*/sockets/raylet*"))


def answer_to(address: str, variables: Mapping[str, str]) -> str:
    """Return what a client prints that keeps a value in the Ray at the address, and reads it again."""
    command = [sys.executable, "-c", CLIENT, address]
    return subprocess.run(command, env=environ(variables), capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "imported",
    [pytest.param((), id="imported by us"), pytest.param(("ray",), id="imported before", marks=pytest.mark.long)],
)
def test_own_ray_serves_only_this_host_and_asks_for_its_token(tmp_path: Path, imported: tuple[str, ...]) -> None:
    with own_ray_in(tmp_path / "home", HOSTILE, *imported) as ray:
        assert ray["worked"] == "worked"
        addresses = [ipaddress.ip_address(address.removeprefix("::ffff:")) for address in ray["listening"]]
        assert len(addresses) > 3
        assert [str(address) for address in addresses if not address.is_loopback] == []
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "home" / "ray-token")}
        assert answer_to(ray["address"], token) == "value"
        for stranger in ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": OTHERS_TOKEN}):
            assert answer_to(ray["address"], stranger) == "refused"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no-such-host.invalid:6379", "127.0.0.1:head", "127.0.0.1:99999"])
def test_an_address_at_which_nothing_answers_is_refused_before_ray_tries_it_for_minutes(address: str) -> None:
    with pytest.raises(GeneratorError, match=f"no Ray answers at {address}: .*check the address"):
        running_ray(RayCluster(address), silent).__enter__()
