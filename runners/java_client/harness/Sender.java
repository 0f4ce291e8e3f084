package harness;

import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * A thread that sends records: as fast as the client accepts them, or each when it is due.
 *
 * <p>Other threads read the counters, which only this thread writes.
 */
final class Sender extends Thread {
    /** The shortest wait between two readings of the clock at a fixed rate. One wake-up per record costs a core. */
    private static final long TICK_NS = 250_000;

    /** At saturation, the clock is read once for this many records. */
    private static final int RECORDS_PER_LOOK = 16;

    private final KafkaProducer<byte[], byte[]> producer;
    private final Pool pool;
    private final ProducerRecord<byte[], byte[]>[] records;
    private final Tally tally;
    private final Batches batches;
    private final Plan plan;
    private final SplittableRandom random;
    private final Durations delays = new Durations();
    private final long maxBytes;
    private int cursor;
    private long gap;
    private volatile double sampleRatio;
    private volatile boolean stopped;
    private volatile boolean released;
    private final CountDownLatch finished = new CountDownLatch(1);

    /** The number of records that the client was given. */
    final AtomicLong handedOver = new AtomicLong();

    /** The size of the keys and values of these records, in bytes. */
    final AtomicLong bytes = new AtomicLong();

    /** The number of records whose latency is recorded, how long their calls took, and the age of their batches. */
    final AtomicLong sampled = new AtomicLong();

    final AtomicLong inSendNs = new AtomicLong();
    final AtomicLong batchAgeNs = new AtomicLong();

    /** Why this thread stopped sending before the end; null if it did not. */
    volatile Trouble trouble;

    Sender(
            KafkaProducer<byte[], byte[]> producer,
            Pool pool,
            ProducerRecord<byte[], byte[]>[] records,
            Tally tally,
            Batches batches,
            Plan plan,
            long primed) {
        super("tuner-sender");
        setDaemon(true);
        this.producer = producer;
        this.pool = pool;
        this.records = records;
        this.tally = tally;
        this.batches = batches;
        this.plan = plan;
        random = new SplittableRandom(plan.seed());
        maxBytes = plan.maxBytes() - (primed == 0 ? 0 : pool.bytes(0));
        cursor = (int) (primed % records.length);
        sampleRatio = plan.sampleRatio();
        gap = nextGap();
    }

    /** Why a sender stopped before the end: a kind for the other process, and a text for people. */
    record Trouble(String kind, String because) {}

    void end() {
        stopped = true;
        LockSupport.unpark(this);
    }

    double sampleRatio() {
        return sampleRatio;
    }

    /** Sets the share of the records whose latency is recorded from now on. */
    void resample(double ratio) {
        sampleRatio = ratio;
    }

    /** Returns how late the records of the measured phase were sent. Call this when the thread has finished. */
    Durations delays() {
        return delays;
    }

    @Override
    public void run() {
        try {
            if (plan.schedule().rate() > 0) {
                paced();
            } else {
                saturating();
            }
        } catch (RuntimeException error) {
            trouble = new Trouble("fatal", Load.describe(error));
        }
        finished.countDown();
        // The thread lives on until the end, so that its CPU time can still be read.
        while (!released) {
            LockSupport.park(this);
        }
    }

    /** Waits until this thread sends no more. */
    void awaitFinished() throws InterruptedException {
        finished.await();
    }

    /** Lets this thread end. */
    void release() {
        released = true;
        LockSupport.unpark(this);
    }

    private void saturating() {
        sleepUntil(plan.startNs());
        while (!stopped && System.nanoTime() < plan.endNs()) {
            for (int i = 0; i < RECORDS_PER_LOOK && trouble == null; i++) {
                if (--gap == 0) {
                    sendTimed(System.nanoTime());
                } else {
                    send(tally.counting);
                }
            }
            if (trouble != null) {
                return;
            }
        }
    }

    /** Sends each record when it is due. A late record is sent at once, and keeps its intended send time. */
    private void paced() {
        long number = 0;
        while (!stopped && trouble == null) {
            long intended = intended(number);
            long now = System.nanoTime();
            if (intended >= plan.endNs()) {
                return;
            }
            if (intended > now) {
                sleepUntil(Math.max(intended, now + TICK_NS));
                continue;
            }
            if (intended >= plan.measuredFromNs()) {
                delays.recordNs(now - intended);
            }
            if (--gap == 0) {
                sendTimed(intended);
            } else {
                send(tally.counting);
            }
            number++;
        }
    }

    private long intended(long number) {
        return plan.startNs() + plan.schedule().dueNs(number);
    }

    private void sleepUntil(long ns) {
        for (long left = ns - System.nanoTime(); left > 0 && !stopped; left = ns - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Sends a record whose latency is recorded, and stores how long the call took and how old its batch is. */
    private void sendTimed(long intendedNs) {
        gap = nextGap();
        long before = System.nanoTime();
        Future<RecordMetadata> sent = send(tally.timed(intendedNs));
        long after = System.nanoTime();
        add(inSendNs, after - before);
        add(batchAgeNs, batches.ageNs(sent, after));
        add(sampled, 1);
    }

    private Future<RecordMetadata> send(Callback callback) {
        int index = cursor;
        int size = pool.bytes(index);
        if (bytes.getPlain() + size > maxBytes) {
            trouble = new Trouble("budget", "");
            return null;
        }
        cursor = (index + 1) % records.length;
        add(handedOver, 1);
        add(bytes, size);
        Future<RecordMetadata> sent = producer.send(records[index], callback);
        batches.sent(sent);
        return sent;
    }

    /** Adds to a counter that only this thread writes. */
    private static void add(AtomicLong counter, long more) {
        counter.setRelease(counter.getPlain() + more);
    }

    private long nextGap() {
        double ratio = sampleRatio;
        return ratio >= 1 ? 1 : 1 + (long) (Math.log(1 - random.nextDouble()) / Math.log1p(-ratio));
    }
}
