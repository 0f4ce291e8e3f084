package harness;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Properties;

/**
 * The settings of one run.
 *
 * <p>Times are on the clock of System.nanoTime. With a rate of 0, records are sent as fast as the client accepts them.
 */
record Plan(
        Properties properties,
        String topic,
        Schedule schedule,
        long maxBytes,
        double sampleRatio,
        long seed,
        boolean keepOffsets,
        long[] endsNs,
        int warmWindows,
        long measuredFromNs,
        long startNs,
        long endNs) {

    /** Reads a command of the other process, whose times are relative to the start of the load. */
    static Plan of(JsonNode command) {
        long[] endsNs = endsNs(command);
        return new Plan(
                properties(command),
                command.get("topic").textValue(),
                Schedule.of(command),
                command.path("max_bytes").asLong(Long.MAX_VALUE),
                command.get("sample_ratio").doubleValue(),
                command.get("seed").longValue(),
                command.get("keep_offsets").booleanValue(),
                endsNs,
                command.get("warm_windows").intValue(),
                command.get("measured_from_ns").longValue(),
                0,
                endsNs[endsNs.length - 1]);
    }

    /** Returns the client's properties in a command. */
    static Properties properties(JsonNode command) {
        Properties properties = new Properties();
        for (Map.Entry<String, JsonNode> each : command.get("properties").properties()) {
            properties.setProperty(each.getKey(), each.getValue().textValue());
        }
        return properties;
    }

    /** Returns the ends of the windows in a command, in nanoseconds after the start of the load. */
    static long[] endsNs(JsonNode command) {
        JsonNode ends = command.get("ends_ns");
        long[] endsNs = new long[ends.size()];
        for (int i = 0; i < endsNs.length; i++) {
            endsNs[i] = ends.get(i).longValue();
        }
        return endsNs;
    }

    /** Returns the same plan for a load that starts at this moment. */
    Plan startingAt(long ns) {
        long shift = ns - startNs;
        long[] ends = endsNs.clone();
        for (int i = 0; i < ends.length; i++) {
            ends[i] += shift;
        }
        return new Plan(properties, topic, schedule, maxBytes, sampleRatio, seed, keepOffsets, ends, warmWindows,
                measuredFromNs + shift, ns, endNs + shift);
    }
}
