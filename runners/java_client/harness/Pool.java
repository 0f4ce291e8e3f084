package harness;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The records to send, which are prepared before the load and sent again and again in the same order.
 *
 * <p>The bytes come from the other process, so that all load generators send the same bytes.
 */
final class Pool {
    private final byte[][] keys;
    private final byte[][] values;

    private Pool(byte[][] keys, byte[][] values) {
        this.keys = keys;
        this.values = values;
    }

    /**
     * Reads a pool from the pipe.
     *
     * <p>The command says how many records and keys follow. First come the sizes of the values (32 bits, least
     * significant byte first), then all values, then all keys. Records use the keys in turn.
     */
    static Pool read(JsonNode command, Pipe pipe) throws IOException {
        int records = command.get("records").intValue();
        byte[] sizes = new byte[4 * records];
        pipe.readFully(sizes);
        ByteBuffer lengths = ByteBuffer.wrap(sizes).order(ByteOrder.LITTLE_ENDIAN);
        byte[][] values = new byte[records][];
        for (int i = 0; i < records; i++) {
            values[i] = new byte[lengths.getInt()];
            pipe.readFully(values[i]);
        }
        int keyBytes = command.get("key_bytes").intValue();
        byte[][] keys = new byte[command.get("keys").intValue()][];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = new byte[keyBytes];
            pipe.readFully(keys[i]);
        }
        return new Pool(keyBytes == 0 ? new byte[1][] : keys, values);
    }

    int size() {
        return values.length;
    }

    /** Returns the size of the key and the value of a record, in bytes. */
    int bytes(int index) {
        byte[] key = keys[index % keys.length];
        return values[index].length + (key == null ? 0 : key.length);
    }

    /**
     * Returns the records of this pool for a topic.
     *
     * <p>The producer never changes a record that has no headers, so a record can be sent any number of times.
     */
    @SuppressWarnings("unchecked")
    ProducerRecord<byte[], byte[]>[] on(String topic) {
        ProducerRecord<byte[], byte[]>[] records = new ProducerRecord[values.length];
        Arrays.setAll(records, i -> new ProducerRecord<>(topic, keys[i % keys.length], values[i]));
        return records;
    }
}
