"""The pinned jars of the Java client, and of the load generator that uses it.

This file is written by `python -m scripts.lock_client_jars`; don't edit it by hand.
"""

from collections.abc import Mapping
from typing import Final

from runners.java_runtime.pinned_jars import PINNED_JARS, PinnedJar

COMPILER: Final = (
    PinnedJar(
        "org.eclipse.jdt:ecj:3.42.0",
        3_327_035,
        "29f6d3918ee02db4400c103bc25dd90a22491c3a395867d9393070cb96a7dd29",
    ),
)
"""The compiler of the load generator."""

_HARNESS: Final = frozenset(
    {
        "com.fasterxml.jackson.core:jackson-annotations:2.21",
        "com.fasterxml.jackson.core:jackson-core:2.21.2",
        "com.fasterxml.jackson.core:jackson-databind:2.21.2",
        "org.bitbucket.b_c:jose4j:0.9.6",
        "org.hdrhistogram:HdrHistogram:2.2.2",
    }
)

HARNESS_JARS: Final = tuple(jar for jar in PINNED_JARS if jar.coordinate in _HARNESS)
"""What the load generator uses besides the client. For OAUTHBEARER, the client itself needs Jackson and jose4j."""

CLIENT_JARS: Final[Mapping[str, tuple[PinnedJar, ...]]] = {
    "2.8.2": (
        PinnedJar(
            "com.github.luben:zstd-jni:1.4.9-1",
            6_474_018,
            "16bb6f70b6577db165bda521a30349fcdc698055893833a993c4553eba71a61b",
        ),
        PinnedJar(
            "org.apache.kafka:kafka-clients:2.8.2",
            4_639_857,
            "0351de6b808f551e4c6cf230a83984d653e14776cc0f4621e7a3eab377e2f621",
        ),
        PinnedJar(
            "org.lz4:lz4-java:1.7.1",
            649_950,
            "f1167a45d4b8002053670ef6991ca66d1bab9dcc03e4ef00183674d2f3fb9cac",
        ),
        PinnedJar(
            "org.slf4j:slf4j-api:1.7.30",
            41_472,
            "cdba07964d1bb40a0761485c6b1e8c2f8fd9eb1d19c53928ac0d7f9510105c57",
        ),
        PinnedJar(
            "org.slf4j:slf4j-simple:1.7.30",
            15_239,
            "8b9279cbff6b9f88594efae3cf02039b6995030eec023ed43928748c41670fee",
        ),
        PinnedJar(
            "org.xerial.snappy:snappy-java:1.1.8.1",
            1_952_778,
            "b57a1c9762bebc1ee1004fe78932e7c245279652531782083c577efedf83813b",
        ),
    ),
    "3.9.1": (
        PinnedJar(
            "com.github.luben:zstd-jni:1.5.6-4",
            6_687_870,
            "793ca8734aa15687e7e64564eab8b6ae9ee2720eae27aa663074682144b1c386",
        ),
        PinnedJar(
            "org.apache.kafka:kafka-clients:3.9.1",
            9_215_194,
            "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9",
        ),
        PinnedJar(
            "org.lz4:lz4-java:1.8.0",
            682_804,
            "d74a3334fb35195009b338a951f918203d6bbca3d1d359033dc33edd1cadc9ef",
        ),
        PinnedJar(
            "org.slf4j:slf4j-api:1.7.36",
            41_125,
            "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
        ),
        PinnedJar(
            "org.slf4j:slf4j-simple:1.7.36",
            15_333,
            "2f39bed943d624dfa8f4102d0571283a10870b6aa36f197a8a506f147010c10f",
        ),
        PinnedJar(
            "org.xerial.snappy:snappy-java:1.1.10.5",
            2_299_797,
            "0f3f1857ed33116583f480b4df5c0218836c47bfbc9c6221c0d73f356decf37b",
        ),
    ),
    "4.3.1": (
        PinnedJar(
            "at.yawk.lz4:lz4-java:1.10.2",
            1_002_267,
            "252dabd586d22149a31661a8afc1a50747714eb1a298bd4a6e780c8c91a13866",
        ),
        PinnedJar(
            "com.github.luben:zstd-jni:1.5.6-10",
            7_305_999,
            "b6c3237e24b8252a5a9c3a0e1ae30ef8f323412e74bd358548b7a9e527d676df",
        ),
        PinnedJar(
            "org.apache.kafka:kafka-clients:4.3.1",
            10_204_032,
            "52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36",
        ),
        PinnedJar(
            "org.slf4j:slf4j-api:1.7.36",
            41_125,
            "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
        ),
        PinnedJar(
            "org.slf4j:slf4j-simple:1.7.36",
            15_333,
            "2f39bed943d624dfa8f4102d0571283a10870b6aa36f197a8a506f147010c10f",
        ),
        PinnedJar(
            "org.xerial.snappy:snappy-java:1.1.10.7",
            2_338_496,
            "4c766cb3f855415ee734b2392949a0b6f12a60879334a74518deaf6270d32e36",
        ),
    ),
}
"""The jars of each release of kafka-clients that our tests run with."""
