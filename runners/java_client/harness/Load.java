package harness;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;

/**
 * One run: opens a producer, sends one record, then the load, window by window, and waits for the last deliveries.
 *
 * <p>The other process gets the counters ten times a second, and each window when it ends.
 */
final class Load extends Thread {
    private static final long PROGRESS_NS = 100_000_000;
    private static final long LEAD_NS = 5_000_000;
    private static final long POLL_NS = 1_000_000;
    private static final int SAMPLES_PER_S = 20_000;

    /** Where OAUTHBEARER gets its tokens. From Kafka 3.9.1 on, a program must allow such an address. */
    private static final String TOKENS = "sasl.oauthbearer.token.endpoint.url";

    private static final String ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

    private final Pipe pipe;
    private final Pool pool;
    private final Plan asked;
    private volatile Sender sender;
    private volatile KafkaProducer<byte[], byte[]> producer;
    private volatile ClientMetrics metrics;
    private final Millis millis = new Millis();
    private final Batches batches;
    private volatile Tally tally = new Tally(millis, Long.MAX_VALUE, Long.MAX_VALUE, false);
    private volatile long primed;
    private volatile boolean stopped;
    private final Thread reporter = new Thread(this::report, "tuner-report");
    private volatile boolean over;
    private final CountDownLatch countersRead = new CountDownLatch(1);

    Load(Pipe pipe, Pool pool, Plan asked) {
        super("tuner-load");
        this.pipe = pipe;
        this.pool = pool;
        this.batches = new Batches(millis);
        this.asked = asked;
    }

    /** Ends the load after the records that are being sent, and waits for their deliveries. */
    void end() {
        stopped = true;
        LockSupport.unpark(this);
    }

    /** Makes the client give up all records that it still holds. */
    void giveUp() {
        KafkaProducer<byte[], byte[]> open = producer;
        if (open != null) {
            open.close(Duration.ZERO);
        }
    }

    @Override
    public void run() {
        reporter.setDaemon(true);
        reporter.start();
        try {
            if (opened()) {
                measure();
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } finally {
            over = true;
            if (sender != null) {
                sender.release();
            }
            giveUp();
        }
    }

    /** Allows the client to get its tokens from the address in its properties. */
    static void allowTokens(Properties properties) {
        String tokens = properties.getProperty(TOKENS);
        if (tokens != null) {
            System.setProperty(ALLOWED, tokens);
        }
    }

    /** Returns whether the client accepts its properties. */
    private boolean opened() {
        allowTokens(asked.properties());
        try {
            producer = new KafkaProducer<>(asked.properties());
        } catch (KafkaException error) {
            refuse("config", describe(error));
            return false;
        }
        metrics = new ClientMetrics(producer);
        return true;
    }

    private void measure() throws InterruptedException {
        ProducerRecord<byte[], byte[]>[] records = pool.on(asked.topic());
        if (!prime(records[0])) {
            return;
        }
        Plan plan = asked.startingAt(System.nanoTime() + LEAD_NS);
        Tally before = tally;
        tally = new Tally(millis, plan.measuredFromNs(), plan.endNs(), plan.keepOffsets());
        tally.continueFrom(before);
        sender = new Sender(producer, pool, records, tally, batches, plan, primed);
        sender.start();
        pipe.send(counters("started").put("start_ns", plan.startNs()));
        for (int window = 0; window < plan.endsNs().length && !stopped; window++) {
            reportWindow(window, plan);
        }
        flush();
    }

    /**
     * Sends one record and waits for its delivery, so that missing rights show before the load begins.
     *
     * <p>Returns false if this record alone exceeds the limit on the bytes of the load.
     */
    private boolean prime(ProducerRecord<byte[], byte[]> first) {
        if (pool.bytes(0) > asked.maxBytes()) {
            refuse("budget", "");
            return false;
        }
        primed = 1;
        producer.send(first, tally.timed(System.nanoTime()));
        producer.flush(); // the record need not wait for linger.ms
        while (tally.done() == 0) {
            LockSupport.parkNanos(POLL_NS);
        }
        return true;
    }

    /** Waits for the end of a window, and sends the counters at that moment, unless the load is stopped before. */
    private void reportWindow(int number, Plan plan) {
        long endNs = plan.endsNs()[number];
        for (long left = endNs - System.nanoTime(); left > 0; left = endNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
            if (stopped) {
                return;
            }
        }
        ObjectNode message = counters("window");
        tally.windowInto(message);
        pipe.send(message);
        if (number + 1 == plan.warmWindows()) {
            double rate = tally.acknowledged() * 1e9 / Math.max(1, plan.measuredFromNs() - plan.startNs());
            sender.resample(Math.min(1.0, SAMPLES_PER_S / Math.max(rate, 1.0)));
        }
    }

    private void flush() throws InterruptedException {
        long from = System.nanoTime();
        sender.end();
        sender.awaitFinished();
        try {
            producer.flush();
        } catch (KafkaException closed) {
            // The other process has made the client give up.
        }
        while (tally.done() < handedOver()) {
            LockSupport.parkNanos(POLL_NS);
        }
        over = true;
        reporter.join(); // so that no report of this run comes after the last message
        ObjectNode message = counters("ended").put("flush_s", (System.nanoTime() - from) / 1e9);
        tally.totalsInto(message);
        sender.delays().into(message, "send_delay");
        message.put("sample_ratio", sender.sampleRatio());
        pipe.send(message);
        countersRead.await(); // keeps threads and connections until the other process has read their counters
    }

    /** Closes the producer of a load that has ended. */
    void close() {
        countersRead.countDown();
    }

    private long handedOver() {
        return primed + counted(sending -> sending.handedOver.get());
    }

    /** Sends the counters to the other process until the run is over or the sender has failed. */
    private void report() {
        while (!over) {
            LockSupport.parkNanos(PROGRESS_NS);
            String refusal = tally.refusal();
            if (refusal != null) {
                refuse("record", refusal);
                return;
            }
            Sender sending = sender;
            Sender.Trouble trouble = sending == null ? null : sending.trouble;
            if (trouble != null) {
                refuse(trouble.kind(), trouble.because());
                return;
            }
            if (!over) {
                pipe.send(counters("progress"));
            }
        }
    }

    private void refuse(String kind, String because) {
        pipe.send(counters("refused").put("kind", kind).put("because", because));
    }

    private ObjectNode counters(String kind) {
        ObjectNode message = Pipe.message(kind).put("handed_over", handedOver());
        message.put("bytes", (primed == 0 ? 0 : pool.bytes(0)) + counted(sending -> sending.bytes.get()));
        message.put("sampled", counted(sending -> sending.sampled.get()));
        message.put("in_send_ns", counted(sending -> sending.inSendNs.get()));
        message.put("batch_age_ns", counted(sending -> sending.batchAgeNs.get()));
        message.put("collector_ms", ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionTime)
                .sum());
        tally.into(message);
        // After the counters: a thread that is held up here then has not counted records that came after this time.
        message.put("at_ns", System.nanoTime());
        ClientMetrics known = metrics;
        if (known != null) {
            known.into(message);
        }
        return message;
    }

    /** Returns a counter of the sender; 0 before there is a sender. */
    private long counted(ToLongFunction<Sender> counter) {
        Sender sending = sender;
        return sending == null ? 0 : counter.applyAsLong(sending);
    }

    /** Returns an error's texts and those of its causes. */
    static String describe(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            text.append(text.isEmpty() ? "" : ": ").append(each.getClass().getSimpleName()).append(": ")
                    .append(each.getMessage());
        }
        return text.toString();
    }
}
