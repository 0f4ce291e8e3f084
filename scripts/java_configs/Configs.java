import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Asks a release of kafka-clients about its producer's properties.
 *
 * <p>"describe" prints the list of properties. "construct" reads one config per line, constructs a KafkaProducer with
 * each, and prints the values that the producer uses. Fields are separated by tabs.
 */
public final class Configs {
    private Configs() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        if (arguments[0].equals("describe")) {
            describe(out);
        } else {
            construct(out);
        }
        out.flush();
    }

    private static void describe(PrintStream out) throws Exception {
        Field field = ProducerConfig.class.getDeclaredField("CONFIG");
        field.setAccessible(true);
        for (ConfigDef.ConfigKey key : ((ConfigDef) field.get(null)).configKeys().values()) {
            if (key.internalConfig) {
                continue;
            }
            Object none = ConfigDef.NO_DEFAULT_VALUE;
            boolean hasDefault = key.defaultValue != none && key.defaultValue != null;
            out.println(String.join("\t", key.name, key.type.name(),
                hasDefault ? "=" + ConfigDef.convertToString(key.defaultValue, key.type) : "",
                key.validator == null ? "" : key.validator.toString(),
                key.documentation.replaceAll("\\s+", " ")));
        }
    }

    private static void construct(PrintStream out) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Properties given = new Properties();
            for (String pair : line.split("\t")) {
                if (!pair.isEmpty()) {
                    given.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
                }
            }
            out.println(constructed(given));
        }
    }

    private static String constructed(Properties given) throws Exception {
        Properties all = new Properties();
        all.putAll(given);
        all.put("bootstrap.servers", "127.0.0.1:1");
        try (Closing producer = new Closing(new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer()))) {
            ProducerConfig config = (ProducerConfig) read(producer.inner, "producerConfig");
            Map<String, String> seen = new TreeMap<>();
            for (Map.Entry<String, ?> each : config.values().entrySet()) {
                Object value = each.getValue();
                seen.put(each.getKey(), value instanceof Class<?> c ? c.getName() : String.valueOf(value));
            }
            Object accumulator = read(producer.inner, "accumulator");
            Object sender = read(producer.inner, "sender");
            seen.put("#idempotent", String.valueOf(read(producer.inner, "transactionManager") != null));
            seen.put("#acks", String.valueOf(read(sender, "acks")));
            seen.put("#retries", String.valueOf(read(sender, "retries")));
            seen.put("#ordered", String.valueOf(read(sender, "guaranteeMessageOrder")));
            seen.put("#batch.size", String.valueOf(read(accumulator, "batchSize")));
            seen.put("#linger.ms", String.valueOf(read(accumulator, "lingerMs")));
            seen.put("#delivery.timeout.ms", String.valueOf(read(accumulator, "deliveryTimeoutMs")));
            TreeSet<String> unused = new TreeSet<>(config.unused());
            unused.retainAll(given.keySet());
            seen.put("#unused", String.join(",", unused));
            StringBuilder text = new StringBuilder("ok");
            seen.forEach((name, value) -> text.append('\t').append(name).append('=').append(value));
            return text.toString().replaceAll("[\\r\\n]", " ");
        } catch (RuntimeException error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            return ("refused\t" + cause.getMessage()).replaceAll("[\\r\\n]", " ");
        }
    }

    private static Object read(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    private record Closing(KafkaProducer<byte[], byte[]> inner) implements AutoCloseable {
        @Override
        public void close() {
            inner.close(Duration.ZERO);
        }
    }
}
