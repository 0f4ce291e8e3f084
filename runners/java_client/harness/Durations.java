package harness;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.zip.Deflater;
import org.HdrHistogram.Histogram;

/** A histogram of durations in microseconds, with their exact sum. Only one thread at a time may use it. */
final class Durations {
    private static final long HIGHEST_US = 3_600_000_000L;

    private final Histogram histogram = new Histogram(1, HIGHEST_US, 3);
    private long sumUs;

    void recordNs(long ns) {
        long us = Math.min(Math.max(ns / 1000, 1), HIGHEST_US);
        histogram.recordValue(us);
        sumUs += us;
    }

    void clear() {
        histogram.reset();
        sumUs = 0;
    }

    /** Puts the histogram into a message, in HdrHistogram's compressed format, and its sum. */
    void into(ObjectNode message, String name) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer, Deflater.BEST_SPEED);
        byte[] bytes = new byte[length];
        buffer.flip();
        buffer.get(bytes);
        message.putObject(name).put("hdr", Base64.getEncoder().encodeToString(bytes)).put("sum_us", sumUs);
    }
}
