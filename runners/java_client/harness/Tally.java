package harness;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.RecordTooLargeException;

/**
 * Counts all deliveries, and records the latency of those that were chosen when they were sent.
 *
 * <p>The client calls back in its network thread, one record after another. If it refuses a record at once, it calls
 * back in the sender's thread. So successes are counted without a lock, and failures with one.
 */
final class Tally {
    private static final String NETWORK_THREAD = "kafka-producer-network-thread";
    /** After a longer time without a callback, the next callback belongs to the next response. */
    private static final long BETWEEN_RESPONSES_NS = 100_000;

    private static final VarHandle ACKNOWLEDGED;

    static {
        try {
            ACKNOWLEDGED = MethodHandles.lookup().findVarHandle(Tally.class, "acknowledged", long.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** Counts a delivery without recording its latency. One object for all records, so that none is created. */
    final Callback counting = (metadata, error) -> count(metadata, error);

    private final Millis millis;
    private final long measuredFromNs;
    private final long endNs;
    private final Longs sampledOffsets;
    private final Durations window = new Durations();
    private final Durations measured = new Durations();
    private final Map<String, Long> failed = new TreeMap<>();
    private String refusal;
    private long failures;
    private long lastNs;
    private long responseNs;
    private long timed;
    private long callbackNs;
    private long responses;
    private long fractionNs;
    private long[] partitions = new long[16];
    private long acknowledged;

    /**
     * Creates a tally. Records that are meant to leave from measuredFromNs until endNs belong to the measured phase.
     *
     * <p>If keepOffsets, the partition and the offset of each record whose latency is recorded are kept.
     */
    Tally(Millis millis, long measuredFromNs, long endNs, boolean keepOffsets) {
        this.millis = millis;
        this.measuredFromNs = measuredFromNs;
        this.endNs = endNs;
        this.sampledOffsets = keepOffsets ? new Longs() : null;
    }

    /** Returns the callback of one record whose latency is recorded. */
    Callback timed(long intendedNs) {
        return (metadata, error) -> {
            long now = System.nanoTime();
            if (count(metadata, error)) {
                synchronized (this) {
                    if (now - lastNs > BETWEEN_RESPONSES_NS) {
                        responseNs = now;
                        responses++;
                        fractionNs += millis.fractionNs(now);
                    }
                    lastNs = now;
                    timed++;
                    callbackNs += now - responseNs;
                    window.recordNs(now - intendedNs);
                    if (intendedNs >= measuredFromNs && intendedNs < endNs) {
                        measured.recordNs(now - intendedNs);
                        if (sampledOffsets != null) {
                            sampledOffsets.add(metadata.partition(), metadata.offset(), intendedNs, now);
                        }
                    }
                }
            }
        };
    }

    private boolean count(RecordMetadata metadata, Exception error) {
        if (error != null) {
            fail(error);
            return false;
        }
        int partition = metadata.partition();
        if (partition >= partitions.length) {
            partitions = Arrays.copyOf(partitions, 2 * partition);
        }
        partitions[partition]++;
        ACKNOWLEDGED.setOpaque(this, acknowledged + 1);
        return true;
    }

    private synchronized void fail(Exception error) {
        failures++;
        String name = error.getClass().getSimpleName();
        if (error instanceof RecordTooLargeException && !Thread.currentThread().getName().startsWith(NETWORK_THREAD)) {
            name = "refused by the client";
            refusal = error.getMessage();
        }
        failed.merge(name, 1L, Long::sum);
    }

    /** Returns why the client itself refused a record, without a broker; null if it did not. */
    synchronized String refusal() {
        return refusal;
    }

    long acknowledged() {
        return (long) ACKNOWLEDGED.getOpaque(this);
    }

    /** Adds the counts of another tally, whose records were all delivered or given up. */
    void continueFrom(Tally other) {
        acknowledged = other.acknowledged;
        timed = other.timed;
        callbackNs = other.callbackNs;
        responses = other.responses;
        fractionNs = other.fractionNs;
        failures = other.failures;
        partitions = other.partitions;
        failed.putAll(other.failed);
    }

    /** Returns the number of records that were delivered or given up. */
    synchronized long done() {
        return acknowledged() + failures;
    }

    /** Puts the counters into a message. */
    synchronized void into(ObjectNode message) {
        message.put("acknowledged", acknowledged());
        message.put("timed", timed).put("callback_ns", callbackNs);
        message.put("responses", responses).put("response_fraction_ns", fractionNs);
        ObjectNode counts = message.putObject("failed");
        failed.forEach(counts::put);
    }

    /** Puts the latencies since the last call into a message. */
    synchronized void windowInto(ObjectNode message) {
        window.into(message, "latency");
        window.clear();
    }

    /** Puts the latencies of the measured phase and the records of each partition into a message. */
    synchronized void totalsInto(ObjectNode message) {
        measured.into(message, "latency");
        var counts = message.putArray("partitions");
        for (long count : partitions) {
            counts.add(count);
        }
        if (sampledOffsets != null) {
            message.put("sampled_offsets", sampledOffsets.encoded());
        }
    }
}
