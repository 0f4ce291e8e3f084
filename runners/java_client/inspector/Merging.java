package inspector;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;

/**
 * Puts batches of a partition together, as their producer would have done if it had waited longer.
 *
 * <p>Batches of one producer become one if their records were created within the wait and fit into the largest size.
 */
final class Merging {
    private final long waitMs;
    private final int mostBytes;
    private final Map<Long, Group> open = new HashMap<>();
    private final ArrayNode done = JsonNodeFactory.instance.arrayNode();

    private static final class Group {
        private final ByteArrayOutputStream records = new ByteArrayOutputStream();
        private long firstMs;
        private int batches;
        private int count;
        private long bytes;
    }

    Merging(long waitMs, int mostBytes) {
        this.waitMs = waitMs;
        this.mostBytes = mostBytes;
    }

    void add(Batch batch) {
        if (batch.records() == null || !batch.isWhole()) {
            return;
        }
        Group group = open.get(batch.producerId());
        if (group != null && !takes(group, batch)) {
            end(group);
            group = null;
        }
        if (group == null) {
            group = new Group();
            group.firstMs = batch.firstCreatedMs();
            open.put(batch.producerId(), group);
        }
        group.records.writeBytes(batch.records());
        group.batches++;
        group.count += batch.count();
        group.bytes += batch.sizeInBytes();
        if (group.records.size() >= mostBytes) {
            end(open.remove(batch.producerId()));
        }
    }

    private boolean takes(Group group, Batch batch) {
        return group.records.size() + batch.records().length <= mostBytes
                && batch.firstCreatedMs() >= group.firstMs
                && batch.lastCreatedMs() - group.firstMs <= waitMs;
    }

    /** Returns the merged batches: how many were merged, their records, their size before, and by codec. */
    ArrayNode result() {
        open.values().forEach(this::end);
        open.clear();
        return done;
    }

    private void end(Group group) {
        byte[] records = group.records.toByteArray();
        ObjectNode facts = done.addObject();
        facts.put("batches", group.batches).put("records", group.count).put("bytes", group.bytes);
        facts.put("plain_bytes", DefaultRecordBatch.RECORD_BATCH_OVERHEAD + records.length);
        facts.set("coded", Codecs.sizes(records));
    }
}
