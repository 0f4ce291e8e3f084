package inspector;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/** The codecs of Kafka, with their default levels. */
final class Codecs {
    private Codecs() {}

    /** Returns the size of a batch with these records, by codec. */
    static ObjectNode sizes(byte[] records) {
        ObjectNode sizes = JsonNodeFactory.instance.objectNode();
        for (CompressionType codec : CompressionType.values()) {
            if (codec != CompressionType.NONE) {
                sizes.put(codec.name, DefaultRecordBatch.RECORD_BATCH_OVERHEAD + compressed(codec, records));
            }
        }
        return sizes;
    }

    private static int compressed(CompressionType codec, byte[] records) {
        var bytes = new ByteBufferOutputStream(records.length / 2 + 512);
        var compression = Compression.of(codec).build();
        try (OutputStream out = compression.wrapForOutput(bytes, RecordBatch.CURRENT_MAGIC_VALUE)) {
            out.write(records);
        } catch (IOException error) {
            throw new UncheckedIOException(error); // there is no device to fail: the bytes stay in memory
        }
        return bytes.position();
    }
}
