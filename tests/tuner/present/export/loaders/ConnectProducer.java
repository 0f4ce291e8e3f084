package org.apache.kafka.connect.runtime;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * Prints the properties that a worker of Kafka Connect gives to the producer of a source connector.
 *
 * <p>Arguments: a file with the config of the worker, and one with that of the connector. The class is in Connect's own
 * package, because the method that makes these properties is not public.
 */
public final class ConnectProducer {
    private ConnectProducer() {}

    public static void main(String[] files) throws Exception {
        Map<String, String> worker = read(files[0]);
        Map<String, String> connector = read(files[1]);
        StandaloneConfig config = new StandaloneConfig(worker);
        ConnectorConfig connectorConfig = new ConnectorConfig(new Plugins(worker), connector);
        Map<String, Object> properties = Worker.baseProducerConfigs("connector", "client", config, connectorConfig,
            SourceConnector.class, new AllConnectorClientConfigOverridePolicy(), "cluster");
        new TreeMap<>(properties).forEach((name, value) -> System.out.println(name + "=" + value));
        System.out.flush();
        System.exit(0);
    }

    private static Map<String, String> read(String file) throws Exception {
        Properties found = Utils.loadProps(file);
        return new HashMap<>(Utils.propsToStringMap(found));
    }
}
