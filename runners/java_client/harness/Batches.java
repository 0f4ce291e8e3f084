package harness;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.FutureRecordMetadata;
import org.apache.kafka.clients.producer.internals.ProduceRequestResult;

/**
 * Finds out when the client began the batch that holds a record.
 *
 * <p>The client measures the queue time of a batch, which begins with its first record. The other records come later.
 * No public method returns how much later, so this class reads private fields: a record's index in its batch, its
 * timestamp, and the partition of the batch. The tests read them in the oldest and the newest release that we support.
 */
final class Batches {
    private static final MethodHandle INDEX_IN_BATCH = getter(int.class, "batchIndex", "relativeOffset");
    private static final MethodHandle TIMESTAMP = getter(long.class, "createTimestamp");
    private static final MethodHandle RESULT = getter(ProduceRequestResult.class, "result");

    private final Millis millis;
    private long[] begunMs = new long[16];

    Batches(Millis millis) {
        this.millis = millis;
    }

    /** Stores the timestamp that the client gave this record, in milliseconds, if it is the first of a batch. */
    void sent(Future<RecordMetadata> sent) {
        if (sent instanceof FutureRecordMetadata known && indexInBatch(known) == 0) {
            int partition = partitionOf(known);
            if (partition >= begunMs.length) {
                begunMs = Arrays.copyOf(begunMs, 2 * partition);
            }
            begunMs[partition] = timestampOf(known);
        }
    }

    /** Returns the time from the millisecond in which the record's batch began until nowNs. */
    long ageNs(Future<RecordMetadata> sent, long nowNs) {
        if (!(sent instanceof FutureRecordMetadata known)) {
            return 0;
        }
        int partition = partitionOf(known);
        return partition < begunMs.length ? millis.sinceNs(begunMs[partition], nowNs) : 0;
    }

    private static int partitionOf(FutureRecordMetadata sent) {
        try {
            return ((ProduceRequestResult) RESULT.invokeExact(sent)).topicPartition().partition();
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static long timestampOf(FutureRecordMetadata sent) {
        try {
            return (long) TIMESTAMP.invokeExact(sent);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static int indexInBatch(FutureRecordMetadata sent) {
        try {
            return (int) INDEX_IN_BATCH.invokeExact(sent);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static MethodHandle getter(Class<?> type, String... names) {
        for (String name : names) {
            try {
                var field = FutureRecordMetadata.class.getDeclaredField(name);
                field.setAccessible(true);
                // Before 3.0 the index in the batch was a long.
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
