package harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;

/**
 * The load of one consumer: reads some partitions from given offsets, and counts every record.
 *
 * <p>It assigns the partitions itself, so that no group is left on the cluster. The client's code runs in this thread,
 * inside of poll. The other process gets the counters ten times a second, and each window when it ends.
 */
final class Reading extends Thread {
    private static final long PROGRESS_NS = 100_000_000;
    private static final Duration LONGEST_POLL = Duration.ofMillis(20);
    private static final Duration METADATA_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration CLOSE_TIMEOUT = Duration.ZERO;

    private final Pipe pipe;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<TopicPartition, Position> positions;
    private final boolean keepArrivals;
    private long startNs;
    private long[] endsNs;
    private volatile boolean stopped;
    private long taken;
    private long bytes;
    private long repeated;
    private long skipped;
    private long insideNs;
    private int unfinished;
    private long nextProgressNs;
    private final Longs arrivals = new Longs();

    /** The position of the consumer in a partition. */
    private static final class Position {
        private long following;
        private final long end;

        Position(long first, long end) {
            this.following = first;
            this.end = end;
        }
    }

    private Reading(
            Pipe pipe,
            KafkaConsumer<byte[], byte[]> consumer,
            Map<TopicPartition, Position> positions,
            boolean keepArrivals) {
        super("tuner-read");
        setDaemon(true);
        this.pipe = pipe;
        this.consumer = consumer;
        this.positions = positions;
        this.keepArrivals = keepArrivals;
        this.unfinished = (int) positions.values().stream().filter(each -> each.following != each.end).count();
    }

    /** Returns a message that says whether a consumer knows these properties, and takes their values. */
    static ObjectNode check(JsonNode command) {
        Properties properties = Plan.properties(command);
        try {
            for (JsonNode name : command.get("named")) {
                if (!ConsumerConfig.configNames().contains(name.textValue())) {
                    throw new ConfigException("a consumer has no property " + name.textValue());
                }
            }
            new ConsumerConfig(properties);
            return Pipe.message("fine");
        } catch (ConfigException error) {
            return Pipe.message("refused").put("because", error.getMessage());
        }
    }

    /** Opens a consumer at the offsets in a command. If that fails, sends the reason and returns null. */
    static Reading open(JsonNode command, Pipe pipe) {
        Properties properties = Plan.properties(command);
        Load.allowTokens(properties);
        String topic = command.get("topic").textValue();
        KafkaConsumer<byte[], byte[]> consumer = null;
        try {
            consumer = new KafkaConsumer<>(properties);
            Map<TopicPartition, Position> positions = new HashMap<>();
            for (JsonNode each : command.get("ranges")) {
                TopicPartition partition = new TopicPartition(topic, each.get("partition").intValue());
                positions.put(partition, new Position(each.get("first").longValue(), each.path("end").asLong(-1)));
            }
            consumer.assign(positions.keySet());
            for (Map.Entry<TopicPartition, Position> each : positions.entrySet()) {
                consumer.seek(each.getKey(), each.getValue().following);
            }
            consumer.partitionsFor(topic, METADATA_TIMEOUT); // so that the load begins with a connection
            pipe.send(Pipe.message("opened"));
            return new Reading(pipe, consumer, positions, command.get("keep_arrivals").booleanValue());
        } catch (KafkaException error) {
            if (consumer != null) {
                consumer.close(CLOSE_TIMEOUT);
            }
            boolean ofConfig = consumer == null;
            pipe.send(Pipe.message("refused")
                    .put("kind", ofConfig ? "config" : error.getClass().getSimpleName())
                    .put("because", Load.describe(error)));
            return null;
        }
    }

    /** Begins to read at the given time of System.nanoTime. */
    void begin(JsonNode command) {
        startNs = command.get("start_ns").longValue();
        endsNs = Plan.endsNs(command);
        start();
    }

    /** Ends the load after the records that are being taken. */
    void end() {
        stopped = true;
        LockSupport.unpark(this);
    }

    @Override
    public void run() {
        try {
            read();
        } catch (KafkaException error) {
            pipe.send(counters("refused")
                    .put("kind", error.getClass().getSimpleName())
                    .put("because", Load.describe(error)));
        } finally {
            consumer.close(CLOSE_TIMEOUT);
        }
    }

    private void read() {
        for (long left = startNs - System.nanoTime(); left > 0; left = startNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        for (int window = 0; window < endsNs.length && !stopped; window++) {
            boolean ended = takeUntil(startNs + endsNs[window]);
            pipe.send(counters("window").put("ended", ended));
            if (ended) {
                break;
            }
        }
        while (!stopped) {
            LockSupport.park(this);
        }
        if (unfinished == 0) {
            countTheLast();
        }
        ObjectNode message = counters("ended");
        if (keepArrivals) {
            message.put("arrivals", arrivals.encoded());
        }
        pipe.send(message);
    }

    /** Lets the client count the last records. It counts those of a fetch when it looks for the record after them. */
    private void countTheLast() {
        consumer.resume(consumer.paused());
        consumer.poll(Duration.ZERO);
    }

    /** Takes records until a moment, and returns whether everything was read before it. */
    private boolean takeUntil(long endNs) {
        for (long now = System.nanoTime(); now < endNs && !stopped; now = System.nanoTime()) {
            if (unfinished == 0) {
                return true;
            }
            if (now >= nextProgressNs) {
                pipe.send(counters("progress"));
                nextProgressNs = now + PROGRESS_NS;
            }
            long before = System.nanoTime();
            Duration left = Duration.ofNanos(Math.max(0, endNs - before));
            ConsumerRecords<byte[], byte[]> got = consumer.poll(left.compareTo(LONGEST_POLL) < 0 ? left : LONGEST_POLL);
            long after = System.nanoTime();
            insideNs += after - before;
            if (got.isEmpty()) {
                passGaps();
            } else {
                take(got, after);
            }
        }
        return unfinished == 0;
    }

    private void take(ConsumerRecords<byte[], byte[]> got, long atNs) {
        for (TopicPartition partition : got.partitions()) {
            Position position = positions.get(partition);
            long first = -1;
            long last = -2;
            for (ConsumerRecord<byte[], byte[]> record : got.records(partition)) {
                long offset = record.offset();
                if (position.end >= 0 && offset >= position.end) {
                    break; // it was written after the load began
                }
                taken++;
                bytes += Math.max(0, record.serializedValueSize());
                if (offset < position.following) {
                    repeated++;
                } else {
                    skipped += offset - position.following;
                    position.following = offset + 1;
                }
                if (offset != last + 1) {
                    keep(partition, first, last, atNs);
                    first = offset;
                }
                last = offset;
            }
            keep(partition, first, last, atNs);
            finishIfRead(partition, position);
        }
    }

    /** Skips offsets without a record: transaction markers, and offsets that compaction has removed. */
    private void passGaps() {
        for (Map.Entry<TopicPartition, Position> each : positions.entrySet()) {
            Position position = each.getValue();
            if (position.end >= 0 && position.following < position.end) {
                long next = Math.min(consumer.position(each.getKey()), position.end);
                if (next > position.following) {
                    skipped += next - position.following;
                    position.following = next;
                    finishIfRead(each.getKey(), position);
                }
            }
        }
    }

    private void finishIfRead(TopicPartition partition, Position position) {
        if (position.end >= 0 && position.following >= position.end && !consumer.paused().contains(partition)) {
            consumer.pause(List.of(partition));
            unfinished--;
        }
    }

    private void keep(TopicPartition partition, long first, long last, long atNs) {
        if (keepArrivals && last >= first) {
            arrivals.add(partition.partition(), first, last, atNs);
        }
    }

    private ObjectNode counters(String kind) {
        ObjectNode message = Pipe.message(kind).put("at_ns", System.nanoTime());
        message.put("taken", taken).put("bytes", bytes).put("repeated", repeated).put("skipped", skipped);
        message.put("inside_ns", insideNs);
        long unread = 0;
        for (Position position : positions.values()) {
            unread += position.end < 0 ? 0 : Math.max(0, position.end - position.following);
        }
        message.put("unread", unread);
        ObjectNode values = message.putObject("metrics");
        List<Double> lags = new ArrayList<>();
        consumer.metrics().forEach((name, metric) -> {
            if (!(metric.metricValue() instanceof Double value) || !Double.isFinite(value)) {
                return;
            }
            boolean ofClient = name.tags().size() == 1;
            if (ofClient && (name.group().equals("consumer-metrics")
                    || name.group().equals("consumer-fetch-manager-metrics"))) {
                values.put(name.name(), value);
            } else if (name.name().equals("records-lag")) {
                lags.add(value);
            }
        });
        values.put("records-lag", lags.stream().mapToDouble(Double::doubleValue).sum());
        return message;
    }
}
