package harness;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * When each record of a fixed rate is due, in nanoseconds after the start; see the Python module runners.load.pacing.
 *
 * <p>With bursts, each period begins with a burst. The first half of the period's records leave during the burst, at
 * peak times the mean rate. The second half leave evenly between the burst and the next period.
 */
record Schedule(double rate, double peak, double periodS, double originS) {
    private static final double NS_PER_S = 1e9;

    /** Reads a command of the other process; without bursts, peak is 1. */
    static Schedule of(JsonNode command) {
        JsonNode bursts = command.path("bursts");
        return new Schedule(
                command.path("rate_records_per_s").asDouble(0),
                bursts.path("peak_ratio").asDouble(1),
                bursts.path("period_s").asDouble(1),
                bursts.path("origin_s").asDouble(0));
    }

    /** Returns when a record is due, rounded up; the first one has the number 0 and is due at once. */
    long dueNs(long number) {
        if (peak <= 1) {
            return (long) Math.ceil(number * (NS_PER_S / rate));
        }
        double half = periodS / 2;
        double burst = periodS / (2 * peak);
        double even = number / rate + even(-originS);
        double whole = Math.floor(even / periodS) * periodS;
        double within = even - whole;
        double shifted = within < half ? within / peak : burst + (within - half) * (periodS - burst) / half;
        return (long) Math.ceil((originS + whole + shifted) * NS_PER_S);
    }

    /** Converts a send time with bursts to the send time at a constant rate, both in seconds after the origin. */
    private double even(double sinceOriginS) {
        double half = periodS / 2;
        double burst = periodS / (2 * peak);
        double whole = Math.floor(sinceOriginS / periodS) * periodS;
        double within = sinceOriginS - whole;
        return whole + (within < burst ? within * peak : half + (within - burst) * half / (periodS - burst));
    }
}
