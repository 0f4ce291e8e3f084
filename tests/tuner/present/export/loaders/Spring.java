import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.kafka.autoconfigure.KafkaProperties;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.FileSystemResource;

/** Prints the properties that Spring Boot gives to its producer, if these files are its configuration. */
public final class Spring {
    private Spring() {}

    public static void main(String[] files) throws Exception {
        List<PropertySource<?>> sources = new ArrayList<>();
        for (String file : files) {
            sources.addAll(new YamlPropertySourceLoader().load(file, new FileSystemResource(file)));
        }
        Binder binder = new Binder(ConfigurationPropertySources.from(sources));
        KafkaProperties bound = binder.bindOrCreate("spring.kafka", KafkaProperties.class);
        new TreeMap<>(bound.buildProducerProperties()).forEach((name, value) -> System.out.println(name + "=" + value));
    }
}
