package inspector;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecord;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/** A record batch of a broker: its header, and its records without compression. No answer holds the records. */
final class Batch {
    /** A batch that is larger than this when it is not compressed stays unread, so that no batch fills the memory. */
    private static final int MOST_PLAIN_BYTES = 32 << 20;

    private final RecordBatch header;
    private final byte[] records;
    private final boolean damaged;
    private int firstRecordBytes;
    private long lastCreatedMs = RecordBatch.NO_TIMESTAMP;

    Batch(RecordBatch header) {
        this.header = header;
        byte[] read = null;
        boolean broken = !isCurrent() || !header.isValid();
        if (!broken && !header.isControlBatch()) {
            try (InputStream in = ((DefaultRecordBatch) header).recordInputStream(BufferSupplier.NO_CACHING)) {
                read = in.readNBytes(MOST_PLAIN_BYTES + 1);
                if (read.length > MOST_PLAIN_BYTES) {
                    read = null;
                } else {
                    look(read);
                }
            } catch (IOException | RuntimeException error) {
                read = null;
                broken = true;
            }
        }
        records = read;
        damaged = broken;
    }

    /** Whether the batch has the format that producers write since Kafka 0.11. */
    private boolean isCurrent() {
        return header.magic() >= RecordBatch.MAGIC_VALUE_V2;
    }

    /** Notes the size of the first record, and the newest time at which a producer created one. */
    private void look(byte[] read) {
        var in = ByteBuffer.wrap(read);
        long first = ((DefaultRecordBatch) header).baseTimestamp();
        for (int left = header.countOrNull(); left > 0; left--) {
            // Without the broker's time, which replaces that of the producer where the topic says so.
            var record = DefaultRecord.readFrom(in, header.baseOffset(), first, RecordBatch.NO_SEQUENCE, null);
            firstRecordBytes = firstRecordBytes == 0 ? record.sizeInBytes() : firstRecordBytes;
            lastCreatedMs = Math.max(lastCreatedMs, record.timestamp());
        }
    }

    /** Whether it has all records that its producer has sent: compaction may have removed some. */
    boolean isWhole() {
        return header.countOrNull() == header.lastOffset() - header.baseOffset() + 1
                && header.deleteHorizonMs().isEmpty();
    }

    /** The uncompressed records; null if they are unknown, or if the batch has no records of a producer. */
    byte[] records() {
        return records;
    }

    int sizeInBytes() {
        return header.sizeInBytes();
    }

    int count() {
        return header.countOrNull();
    }

    long producerId() {
        return header.producerId();
    }

    long firstCreatedMs() {
        return ((DefaultRecordBatch) header).baseTimestamp();
    }

    long lastCreatedMs() {
        return lastCreatedMs;
    }

    /** Returns what the batch says of itself, with its size under each codec. */
    ObjectNode facts() {
        ObjectNode facts = JsonNodeFactory.instance.objectNode();
        facts.put("format", header.magic()).put("damaged", isCurrent() && damaged);
        facts.put("base_offset", header.baseOffset()).put("last_offset", header.lastOffset());
        if (!isCurrent() || damaged) {
            return facts;
        }
        facts.put("bytes", header.sizeInBytes()).put("records", header.countOrNull());
        facts.put("codec", header.compressionType().name).put("producer_id", header.producerId());
        facts.put("whole", isWhole());
        facts.put("transactional", header.isTransactional()).put("control", header.isControlBatch());
        if (header.timestampType() == TimestampType.LOG_APPEND_TIME) {
            facts.put("appended_ms", header.maxTimestamp());
        }
        if (records != null) {
            facts.put("plain_bytes", DefaultRecordBatch.RECORD_BATCH_OVERHEAD + records.length);
            facts.put("first_record_bytes", firstRecordBytes);
            facts.put("first_created_ms", firstCreatedMs()).put("last_created_ms", lastCreatedMs);
            facts.set("coded", Codecs.sizes(records));
        }
        return facts;
    }
}
