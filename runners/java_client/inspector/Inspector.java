package inspector;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import harness.Pipe;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.common.KafkaException;

/**
 * Reads record batches of a cluster as they lie on its brokers, for the process that started this one.
 *
 * <p>The Python module runners.inspection.batch_reader sends the commands through standard input, and gets the answers
 * through standard output (Pipe). Answers hold sizes, times and ids, never a key, a value or a header of a record. When
 * standard input ends, so does this process.
 */
public final class Inspector {
    private final Pipe pipe;
    private final BlockingQueue<JsonNode> commands = new LinkedBlockingQueue<>();
    private Brokers brokers;

    private Inspector(Pipe pipe) {
        this.pipe = pipe;
    }

    /** Carries out commands until the other process has ended, and does not wait for brokers then. */
    public static void main(String[] arguments) throws IOException {
        Pipe pipe = new Pipe(System.in, new FileOutputStream(FileDescriptor.out));
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err), true));
        var inspector = new Inspector(pipe);
        var worker = new Thread(inspector::work, "tuner-inspector");
        worker.setUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
        worker.start();
        pipe.send(Pipe.message("ready"));
        for (JsonNode command = pipe.next(); command != null; command = pipe.next()) {
            inspector.commands.add(command);
        }
        Runtime.getRuntime().halt(0);
    }

    private void work() {
        while (true) {
            try {
                pipe.send(answer(commands.take()));
            } catch (IOException | KafkaException error) {
                pipe.send(refusal(error));
            } catch (InterruptedException error) {
                throw new IllegalStateException(error); // nobody interrupts this thread
            }
        }
    }

    private ObjectNode answer(JsonNode command) throws IOException {
        switch (command.get("do").textValue()) {
            case "connect" -> {
                brokers = new Brokers(command);
                return Pipe.message("connected");
            }
            case "fetch" -> {
                return brokers.fetch(command);
            }
            default -> throw new IllegalArgumentException(command.get("do").toString());
        }
    }

    private static ObjectNode refusal(Exception error) {
        StringBuilder because = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            because.append(because.length() == 0 ? "" : ": ").append(each.getMessage());
        }
        return Pipe.message("refused").put("kind", error.getClass().getSimpleName()).put("because", because.toString());
    }
}
