package harness;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/**
 * Reads the client's own metrics.
 *
 * <p>The client is configured so that an average covers the whole time since the producer began. The mean of the time
 * between two readings is computed from the two averages and their counts.
 */
final class ClientMetrics {
    private static final String[] NAMES = {
        "record-send-total",
        "record-retry-total",
        "records-per-request-avg",
        "batch-size-avg",
        "record-queue-time-avg",
        "request-latency-avg",
        "requests-in-flight",
        "produce-throttle-time-avg",
        "bufferpool-wait-time-ns-total",
        "bufferpool-wait-time-total",
        "buffer-total-bytes",
        "buffer-available-bytes",
        "outgoing-byte-total",
    };

    private final KafkaProducer<?, ?> producer;
    private final Map<String, Metric> known = new HashMap<>();
    private Metric topicBytes;

    ClientMetrics(KafkaProducer<?, ?> producer) {
        this.producer = producer;
        producer.metrics().forEach((name, metric) -> {
            if (name.group().equals("producer-metrics")) {
                known.put(name.name(), metric);
            }
        });
    }

    /** Puts the current values into a message. A value that the client does not know yet is left out. */
    synchronized void into(ObjectNode message) {
        ObjectNode values = message.putObject("metrics");
        for (String name : NAMES) {
            put(values, name, known.get(name));
        }
        if (topicBytes == null) {
            topicBytes = topicBytes();
        }
        put(values, "byte-total", topicBytes);
    }

    /** Returns the counter of bytes in batches, which the client has only after its first batch. */
    private Metric topicBytes() {
        for (Map.Entry<MetricName, ? extends Metric> each : producer.metrics().entrySet()) {
            MetricName name = each.getKey();
            if (name.group().equals("producer-topic-metrics") && name.name().equals("byte-total")) {
                return each.getValue();
            }
        }
        return null;
    }

    private static void put(ObjectNode values, String name, Metric metric) {
        if (metric != null && metric.metricValue() instanceof Double value && Double.isFinite(value)) {
            values.put(name, value);
        }
    }
}
