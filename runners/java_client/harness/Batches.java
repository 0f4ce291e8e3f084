package harness;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.FutureRecordMetadata;
import org.apache.kafka.clients.producer.internals.ProduceRequestResult;

/**
 * Notes when the client began the batch that a record went into.
 *
 * <p>The client's queue time is that of a batch, from its first record on. The other records of the batch come later.
 * By how much, no public method tells, so this reads two private fields: a record's place in its batch, and the
 * partition of that batch. The tests do so with the oldest and the newest release that we support.
 */
final class Batches {
    private static final MethodHandle PLACE = getter(int.class, "batchIndex", "relativeOffset");
    private static final MethodHandle RESULT = getter(ProduceRequestResult.class, "result");

    private final boolean keyed;
    private final Millis millis;
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong fractionNs = new AtomicLong();
    private long[] begunNs = new long[1];

    /** Records without keys all go into the same batch until the client begins the next one. */
    Batches(boolean keyed, Millis millis) {
        this.keyed = keyed;
        this.millis = millis;
    }

    /** Notes the time if this record is the first of a batch. */
    void sent(Future<RecordMetadata> sent) {
        if (sent instanceof FutureRecordMetadata known && placeOf(known) == 0) {
            int partition = partitionOf(known);
            if (partition >= begunNs.length) {
                begunNs = Arrays.copyOf(begunNs, 2 * partition);
            }
            long now = System.nanoTime();
            begunNs[partition] = now;
            begun.incrementAndGet();
            fractionNs.addAndGet(millis.fractionNs(now));
        }
    }

    /** Puts the number of batches into a message, and the fractions of a millisecond at which they began. */
    void into(ObjectNode message) {
        message.put("begun", begun.get()).put("begun_fraction_ns", fractionNs.get());
    }

    /** Returns the time from the start of the record's batch until nowNs. */
    long ageNs(Future<RecordMetadata> sent, long nowNs) {
        if (!(sent instanceof FutureRecordMetadata known)) {
            return 0;
        }
        int partition = partitionOf(known);
        return partition < begunNs.length ? Math.max(0, nowNs - begunNs[partition]) : 0;
    }

    private int partitionOf(FutureRecordMetadata sent) {
        try {
            return keyed ? ((ProduceRequestResult) RESULT.invokeExact(sent)).topicPartition().partition() : 0;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static int placeOf(FutureRecordMetadata sent) {
        try {
            return (int) PLACE.invokeExact(sent);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static MethodHandle getter(Class<?> type, String... names) {
        for (String name : names) {
            try {
                var field = FutureRecordMetadata.class.getDeclaredField(name);
                field.setAccessible(true);
                // Before 3.0 the place was a long.
                return MethodHandles.explicitCastArguments(
                        MethodHandles.lookup().unreflectGetter(field),
                        MethodType.methodType(type, FutureRecordMetadata.class));
            } catch (ReflectiveOperationException otherRelease) {
                // The next name may be the one of this release.
            }
        }
        throw new IllegalStateException("kafka-clients has no field " + String.join(" or ", names));
    }
}
