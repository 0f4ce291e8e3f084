"""The load of the read side: several consumers read one topic, and every record is counted.

The modules hold what is read, what was measured, the check of offsets, and the processes of the consumers. How one
consumer reads with librdkafka is in `runners.librdkafka`.
"""
