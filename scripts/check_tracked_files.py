"""Checks that the files of this repository contain no paths of a machine, no secrets and no registry addresses.

It checks tracked files, and new files that git does not ignore. A line that must break a rule, for instance in a test,
ends with `allowed: ` and the name of the rule.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST_BYTES = 1_000_000

# Loopback addresses, and names reserved for examples and tests. Source: RFC 2606, RFC 6761.
_NOBODY = r"(?:localhost|127\.0\.0\.1|\[::1\]|[\w.-]*\bexample(?:\.\w+)?|[\w.-]+\.(?:invalid|test))(?=[:/])"

RULES = {
    "machine-path": re.compile(
        r"(?<![\w.$}~-])/(?:home|Users)/[\w.-]+"  # a user's home folder
        r"|(?<![\w.$}~-])/root(?=/)"
        r"|\b[A-Z]:\\+Users\\"
        + (rf"|{re.escape(str(ROOT))}(?![\w.-])" if len(ROOT.parts) > 2 else "")  # the folder of this clone
    ),
    "secret": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY"
        r"|\bAKIA[0-9A-Z]{16}\b"  # AWS
        r"|\bgh[oprsu]_[A-Za-z0-9]{36}|\bgithub_pat_\w{22,}"
        r"|\bglpat-[\w-]{20}|\bpypi-[\w-]{50,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{35}"
        r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\."  # a JSON web token
        rf"|\bhttps?://[^\s/:@\"'{{}}$]+:[^\s/@\"'{{}}$<]+@(?!{_NOBODY})"  # user and password in an address
    ),
    "registry": re.compile(
        rf"\bhttps?://(?!{_NOBODY})[^\s\"'`)<>]+/(?:simple|maven2|pypi|artifactory)(?=[/\s\"'`)<>]|$)"
        r"|--(?:extra-)?index-url[= ]+['\"]?https?:"
        r"|\bfiles\.pythonhosted\.[a-z]|\brepo1?\.maven\.[a-z]"
    ),
}


def main() -> int:
    """Print all findings and return the exit status."""
    paths = repository_files()
    findings = [finding for path in paths for finding in check(path)]
    for finding in findings:
        print(finding)
    if findings:
        print(f"tracked files: {len(findings)} lines or files break a rule; {Path(__file__).name} explains the rules")
        return 1
    print(f"tracked files: {len(paths)} files contain no machine paths, secrets or registries")
    return 0


def repository_files() -> list[Path]:
    """Return all existing files that git tracks, and new files that git does not ignore."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"git must be installed and {ROOT} must be a clone, to find the tracked files, but: {error}")
    return sorted(ROOT / name for name in set(listed.stdout.split("\0")) if name and (ROOT / name).is_file())


def check(path: Path) -> Iterator[str]:
    """Yield the problems of a file, as `path:line: rule: excerpt`."""
    name = path.relative_to(ROOT)
    if path.stat().st_size > LARGEST_BYTES:
        yield f"{name}: size: larger than {LARGEST_BYTES / 1e6:.0f} MB"
    content = path.read_bytes()
    if b"\0" in content:
        return
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
        for rule, pattern in RULES.items():
            match = pattern.search(line)
            if match and f"allowed: {rule}" not in line:
                # A secret must not be printed into the log of a build.
                shown = "..." if rule == "secret" else match[0]
                yield f"{name}:{number}: {rule}: {shown}"


if __name__ == "__main__":
    sys.exit(main())
