package inspector;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import harness.Pipe;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Reads record batches of a cluster as they lie on its brokers, for the process that started this one.
 *
 * <p>Commands come through standard input, answers go to standard output; see the module batch_reader of the Python
 * package runners.java_client. Answers hold sizes, times and ids, never a key, a value or a header of a record. When
 * standard input ends, so does this process.
 */
public final class Inspector {
    private Inspector() {}

    /** Carries out commands until the other process has ended. */
    public static void main(String[] arguments) throws IOException {
        Pipe pipe = new Pipe(System.in, new FileOutputStream(FileDescriptor.out));
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err), true));
        pipe.send(Pipe.message("ready").put("client", AppInfoParser.getVersion()));
        Brokers brokers = null;
        for (JsonNode command = pipe.next(); command != null; command = pipe.next()) {
            try {
                switch (command.get("do").textValue()) {
                    case "connect" -> {
                        brokers = new Brokers(command);
                        pipe.send(Pipe.message("connected"));
                    }
                    case "fetch" -> pipe.send(brokers.fetch(command));
                    default -> throw new IllegalArgumentException(command.get("do").toString());
                }
            } catch (IOException | KafkaException error) {
                pipe.send(refusal(error));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode refusal(Exception error) {
        StringBuilder because = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            because.append(because.length() == 0 ? "" : ": ").append(each.getMessage());
        }
        return Pipe.message("refused").put("kind", error.getClass().getSimpleName()).put("because", because.toString());
    }
}
