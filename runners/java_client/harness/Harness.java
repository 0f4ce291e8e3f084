package harness;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;

/**
 * Measures Kafka's Java client, one run after another, for the process that started this one: producers, or a consumer.
 *
 * <p>The Python package runners.java_client sends the commands through standard input, and gets the answers through
 * standard output (Pipe). When standard input ends, so does this process, whatever it is doing.
 */
public final class Harness {
    private Harness() {}

    /** Carries out commands until the other process has ended. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Pipe pipe = new Pipe(System.in, new FileOutputStream(FileDescriptor.out));
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err), true));
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            pipe.send(Pipe.message("refused").put("kind", "defect").put("because", Load.describe(error)));
            error.printStackTrace();
        });
        pipe.send(Pipe.message("ready"));
        Pool pool = null;
        Load load = null;
        FakeBroker broker = null;
        Reading reading = null;
        for (JsonNode command = pipe.next(); command != null; command = pipe.next()) {
            switch (command.get("do").textValue()) {
                case "pool" -> pool = Pool.read(command, pipe);
                case "run" -> {
                    if (load != null) {
                        load.join();
                    }
                    load = new Load(pipe, pool, Plan.of(command));
                    load.start();
                }
                case "stop" -> load.end();
                case "close" -> load.close();
                case "read store" -> pipe.send(Stores.read(command));
                case "open fake broker" -> {
                    broker = new FakeBroker();
                    pipe.send(Pipe.message("listening").put("port", broker.port()));
                }
                case "close fake broker" -> broker.close();
                case "give up" -> load.giveUp();
                case "check consumer" -> pipe.send(Reading.check(command));
                case "open reader" -> reading = Reading.open(command, pipe);
                case "read" -> reading.begin(command);
                case "stop reading" -> reading.end();
                default -> throw new IllegalArgumentException(command.toString());
            }
        }
        Runtime.getRuntime().halt(1);
    }
}
