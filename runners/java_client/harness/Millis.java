package harness;

import java.time.Instant;

/**
 * Measures the fraction of a millisecond that the client's clock leaves out.
 *
 * <p>The client's metrics are differences of System.currentTimeMillis. If the measured times always begin or end at the
 * same place within a millisecond, as with a rate of 500/s or at the end of linger.ms, the metrics are wrong by up to a
 * millisecond on average. The mean fractions at both ends correct this error.
 */
final class Millis {
    private static final long NS_PER_MS = 1_000_000;
    private static final long NS_PER_S = 1_000_000_000;

    /** The time since 1970 at 0 on the clock of System.nanoTime. */
    private final long zeroNs;

    Millis() {
        long before = System.nanoTime();
        Instant now = Instant.now();
        zeroNs = now.getEpochSecond() * NS_PER_S + now.getNano() - (before + System.nanoTime()) / 2;
    }

    /** Returns the nanoseconds since the last whole millisecond of the time of day. */
    long fractionNs(long nanoTime) {
        return Math.floorMod(zeroNs + nanoTime, NS_PER_MS);
    }

    /** Returns the nanoseconds from a time in milliseconds since 1970 until nanoTime. */
    long sinceNs(long epochMs, long nanoTime) {
        return zeroNs + nanoTime - epochMs * NS_PER_MS;
    }
}
