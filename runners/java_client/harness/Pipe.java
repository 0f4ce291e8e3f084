package harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;

/**
 * The pipe to the process that started this one: one JSON object per line in both directions.
 *
 * <p>A line of the other process may announce bytes, which follow the line.
 */
public final class Pipe {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final DataInputStream in;
    private final OutputStream out;

    /** Makes a pipe of two streams. */
    public Pipe(InputStream in, OutputStream out) {
        this.in = new DataInputStream(new BufferedInputStream(in, 1 << 16));
        this.out = out;
    }

    /** Returns an empty message of this kind. */
    public static ObjectNode message(String kind) {
        return JSON.createObjectNode().put("is", kind);
    }

    /** Returns the next command; null if the other process has closed the pipe or has ended. */
    public JsonNode next() throws IOException {
        byte[] bytes = new byte[1 << 12];
        int used = 0;
        for (int read = in.read(); read != '\n'; read = in.read()) {
            if (read < 0) {
                return null;
            }
            if (used == bytes.length) {
                bytes = Arrays.copyOf(bytes, 2 * used);
            }
            bytes[used++] = (byte) read;
        }
        return JSON.readTree(bytes, 0, used);
    }

    /** Fills an array with the bytes that follow the last command. */
    public void readFully(byte[] bytes) throws IOException {
        in.readFully(bytes);
    }

    /** Sends a message. Any thread may call this. */
    public void send(ObjectNode message) {
        try {
            byte[] line = JSON.writeValueAsBytes(message);
            synchronized (out) {
                out.write(line);
                out.write('\n');
                out.flush();
            }
        } catch (IOException closed) {
            // The other process has ended, so nobody needs the measurement.
            Runtime.getRuntime().halt(1);
        }
    }
}
