package inspector;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import harness.Pipe;
import java.io.EOFException;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.MetadataRecoveryStrategy;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.Selectable;
import org.apache.kafka.common.network.Selector;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** The connections to the brokers of a cluster, with the client's own network classes and security settings. */
final class Brokers {
    /** The newest version of the fetch request in which topics have names; newer versions use topic ids. */
    private static final short FETCH_VERSION = 12;

    private static final int TIMEOUT_MS = 20_000;
    private static final int BACKOFF_MS = 50;
    private static final int MOST_BACKOFF_MS = 1_000;
    private static final String METRICS = "inspector";

    private final Map<Integer, Node> nodes = new HashMap<>();
    private final Metrics metrics = new Metrics();
    private final NetworkClient client;

    Brokers(JsonNode command) {
        Map<String, Object> properties = new HashMap<>();
        command.get("properties").fields().forEachRemaining(each ->
                properties.put(each.getKey(), each.getValue().textValue()));
        for (JsonNode broker : command.get("brokers")) {
            int id = broker.get("id").intValue();
            nodes.put(id, new Node(id, broker.get("host").textValue(), broker.get("port").intValue()));
        }
        var config = new AdminClientConfig(properties);
        var log = new LogContext();
        // A response that is larger is not read: the connection is closed.
        var selector = new Selector(command.get("most_response_bytes").intValue(), Selector.NO_IDLE_TIMEOUT_MS, metrics,
                Time.SYSTEM, METRICS, Map.of(), false, false, ClientUtils.createChannelBuilder(config, Time.SYSTEM, log),
                MemoryPool.NONE, log);
        client = new NetworkClient(selector, new ManualMetadataUpdater(List.copyOf(nodes.values())),
                command.get("client_id").textValue(), 1, BACKOFF_MS, MOST_BACKOFF_MS,
                Selectable.USE_DEFAULT_BUFFER_SIZE, Selectable.USE_DEFAULT_BUFFER_SIZE, TIMEOUT_MS, TIMEOUT_MS,
                TIMEOUT_MS, Time.SYSTEM, true, new ApiVersions(), log, MetadataRecoveryStrategy.NONE);
    }

    /** Sends one fetch request, and returns a message with facts about the batches of the response. */
    ObjectNode fetch(JsonNode command) throws IOException {
        Node node = nodes.get(command.get("broker").intValue());
        var asked = new LinkedHashMap<TopicPartition, FetchRequest.PartitionData>();
        var ends = new HashMap<TopicPartition, Long>();
        for (JsonNode each : command.get("partitions")) {
            var partition = new TopicPartition(each.get("topic").textValue(), each.get("partition").intValue());
            ends.put(partition, each.get("end").longValue());
            asked.put(partition, new FetchRequest.PartitionData(Uuid.ZERO_UUID, each.get("offset").longValue(),
                    FetchRequest.INVALID_LOG_START_OFFSET, each.get("most_bytes").intValue(), Optional.empty()));
        }
        var request = FetchRequest.Builder.forConsumer(FETCH_VERSION, 0, 0, asked)
                .setMaxBytes(command.get("most_bytes").intValue())
                .isolationLevel(IsolationLevel.READ_UNCOMMITTED);
        awaitBackoff(node);
        if (!NetworkClientUtils.awaitReady(client, node, Time.SYSTEM, TIMEOUT_MS)) {
            throw new IOException("no connection to " + node.host() + ":" + node.port());
        }
        var sent = client.newClientRequest(node.idString(), request, Time.SYSTEM.milliseconds(), true);
        var response = (FetchResponse) answered(sent).responseBody();
        if (response.error() != Errors.NONE) {
            throw response.error().exception();
        }
        ObjectNode answer = Pipe.message("fetched");
        ArrayNode partitions = answer.putArray("partitions");
        for (var topic : response.data().responses()) {
            for (var each : topic.partitions()) {
                long end = ends.get(new TopicPartition(topic.topic(), each.partitionIndex()));
                describe(each, end, command, partitions.addObject().put("topic", topic.topic()));
            }
        }
        return answer.put("received_bytes", receivedBytes());
    }

    /** Waits as long as the client does not connect again after a connection has ended; `awaitReady` would fail. */
    private void awaitBackoff(Node node) {
        long now = Time.SYSTEM.milliseconds();
        if (!NetworkClientUtils.isReady(client, node, now) && client.connectionFailed(node)) {
            Time.SYSTEM.sleep(client.connectionDelay(node, now));
        }
    }

    private ClientResponse answered(ClientRequest sent) throws IOException {
        try {
            return NetworkClientUtils.sendAndReceive(client, sent, Time.SYSTEM);
        } catch (IOException closed) {
            throw new EOFException(closed.getMessage());
        }
    }

    private static void describe(
            FetchResponseData.PartitionData found, long end, JsonNode command, ObjectNode partition) {
        partition.put("partition", found.partitionIndex());
        if (found.errorCode() != Errors.NONE.code()) {
            partition.put("error", Errors.forCode(found.errorCode()).name());
            return;
        }
        ArrayNode batches = partition.putArray("batches");
        var merged = new Merging(command.get("merge_wait_ms").longValue(), command.get("merge_bytes").intValue());
        for (RecordBatch each : FetchResponse.recordsOrFail(found).batches()) {
            if (each.baseOffset() >= end) {
                break;
            }
            var batch = new Batch(each);
            batches.add(batch.facts());
            merged.add(batch);
        }
        partition.set("merged", merged.result());
    }

    /** Returns how many bytes all connections have received so far, with those of the protocol. */
    private long receivedBytes() {
        double bytes = 0;
        for (var metric : metrics.metrics().values()) {
            if (metric.metricName().name().equals("incoming-byte-total")) {
                bytes += (Double) metric.metricValue();
            }
        }
        return (long) bytes;
    }
}
