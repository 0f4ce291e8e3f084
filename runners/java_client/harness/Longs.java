package harness;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;

/** A growing table of numbers, four in each row. Only one thread at a time may use it. */
final class Longs {
    private static final int COLUMNS = 4;

    private long[] numbers = new long[COLUMNS << 10];
    private int used;

    void add(long first, long second, long third, long fourth) {
        if (used == numbers.length) {
            numbers = Arrays.copyOf(numbers, 2 * used);
        }
        numbers[used] = first;
        numbers[used + 1] = second;
        numbers[used + 2] = third;
        numbers[used + 3] = fourth;
        used += COLUMNS;
    }

    /** Returns the table row by row in Base64, each number as 64 bits, most significant byte first. */
    String encoded() {
        ByteBuffer content = ByteBuffer.allocate(Long.BYTES * used);
        content.asLongBuffer().put(numbers, 0, used);
        return Base64.getEncoder().encodeToString(content.array());
    }
}
