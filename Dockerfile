# The tuner with its own Kafka: needs no network at run time unless it is pointed at a cluster.
#
#   docker build --tag kafka-tuner .
#   docker run --rm kafka-tuner
#   docker run --rm --network host kafka-tuner bench --bootstrap broker:9092
#
# Behind a mirror: --build-arg PIP_INDEX_URL=... and --build-arg KAFKA_TUNER_MAVEN_REPOSITORY=...; both stay in the
# first two stages, and so out of the image.

FROM python:3.11-slim-bookworm AS install
ARG PIP_INDEX_URL
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python3 -m venv /opt/kafka-tuner
WORKDIR /src
# Dependencies first: they change less often than our own files.
COPY pyproject.toml constraints.txt ./
RUN python3 -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > requirements.txt \
 && /opt/kafka-tuner/bin/pip install --quiet --constraint constraints.txt --requirement requirements.txt
COPY . .
RUN /opt/kafka-tuner/bin/pip wheel --quiet --no-deps --wheel-dir /wheels . \
 && /opt/kafka-tuner/bin/pip install --quiet --no-deps /wheels/*.whl

FROM install AS kafka
ARG KAFKA_TUNER_MAVEN_REPOSITORY
RUN KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache /opt/kafka-tuner/bin/python scripts/prefetch_kafka.py \
 && chmod -R a+rX /opt/kafka-tuner-cache

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="kafka-tuner" \
      org.opencontainers.image.description="Finds the best Apache Kafka producer configuration for each record size, by measuring it." \
      org.opencontainers.image.licenses="Apache-2.0"
# Broker logs and records of runs; open to all, so that `--user` works with any id.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/kafka-tuner --shell /usr/sbin/nologin tuner \
 && install -d -o tuner -g tuner -m 1777 /var/lib/kafka-tuner
COPY --from=install /opt/kafka-tuner /opt/kafka-tuner
COPY --from=kafka --chown=tuner:tuner /opt/kafka-tuner-cache /opt/kafka-tuner-cache
ENV PATH=/opt/kafka-tuner/bin:$PATH \
    HOME=/var/lib/kafka-tuner \
    KAFKA_TUNER_HOME=/var/lib/kafka-tuner \
    KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache \
    PYTHONUNBUFFERED=1
USER tuner
WORKDIR /var/lib/kafka-tuner
# As Ctrl-C: the tuner deletes its topics and stops its brokers. A process with id 1 ignores SIGTERM.
STOPSIGNAL SIGINT
ENTRYPOINT ["tuner"]
CMD ["bench", "--record-bytes", "1000", "--seconds", "5", "--warmup", "3"]
