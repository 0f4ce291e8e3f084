import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.StreamsConfig;

/** Prints the properties that Kafka Streams gives to its producer, if this file is the application's config. */
public final class Streams {
    private Streams() {}

    public static void main(String[] files) throws Exception {
        Properties given = Utils.loadProps(files[0]);
        StreamsConfig config = new StreamsConfig(given);
        new TreeMap<>(config.getProducerConfigs("client")).forEach((name, value) -> System.out.println(name + "=" + value));
    }
}
