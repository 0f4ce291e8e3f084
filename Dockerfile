# The tuner with its own Kafka: needs no network at run time unless it is pointed at a cluster. See docs/how-to/containers.md.
#
#   scripts/image build
#   docker run --rm --network none kafka-tuner            the quick-start: ends with a recommendation
#   docker run --rm --network host kafka-tuner bench --bootstrap broker:9092
#
# Behind a mirror: --build-arg PIP_INDEX_URL=... and --build-arg KAFKA_TUNER_MAVEN_REPOSITORY=...; both stay in stages
# that are thrown away, and so out of the image. Needs no BuildKit.

# An init, so that processes whose parents died are buried and a signal reaches the tuner and nobody else.
FROM python:3.11-slim-bookworm AS init
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends tini

# Apart, so that only a change to the dependencies has them installed anew, and not any in pyproject.toml.
FROM python:3.11-slim-bookworm AS requirements
WORKDIR /src
COPY pyproject.toml ./
COPY scripts/image_requirements.py scripts/
RUN python3 scripts/image_requirements.py > requirements.txt

FROM python:3.11-slim-bookworm AS install
ARG PIP_INDEX_URL
WORKDIR /src
# The build's own tools are pinned too: an older pip takes the one, a newer one the other.
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_CONSTRAINT=/src/constraints.txt PIP_BUILD_CONSTRAINT=/src/constraints.txt
# No pip in the environment: the one outside fills it.
RUN python3 -m venv --without-pip /opt/kafka-tuner
COPY --from=requirements /src/requirements.txt ./
COPY constraints.txt ./
COPY scripts/slim_environment.py scripts/
RUN python3 -m pip --python /opt/kafka-tuner/bin/python install --quiet --no-compile --requirement requirements.txt \
 && python3 scripts/slim_environment.py /opt/kafka-tuner
COPY . .
RUN python3 -m pip --python /opt/kafka-tuner/bin/python install --quiet --no-compile --no-deps .

# All that is left over from one real study: the jars of Kafka and of its Java client, the compiled load generator for the
# latter, what makes starts of a broker quick, and the bytecode of the modules
# that were used. (That of all modules would be 200 MB.) An image that can't run a study is not built.
FROM install AS warm
ARG KAFKA_TUNER_MAVEN_REPOSITORY
RUN KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache /opt/kafka-tuner/bin/python scripts/prefetch_kafka.py \
 && KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache /opt/kafka-tuner/bin/python scripts/warm_environment.py \
 && chmod -R a+rX /opt/kafka-tuner-cache

FROM python:3.11-slim-bookworm
# Broker logs, records of runs, studies, and MLflow's files; open to all, so that `--user` works with any id.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/kafka-tuner --shell /usr/sbin/nologin tuner \
 && install -d -o tuner -g tuner -m 1777 /var/lib/kafka-tuner /var/lib/kafka-tuner/studies /var/lib/kafka-tuner/artifacts
COPY --from=init /usr/bin/tini /usr/bin/tini
COPY --from=warm /opt/kafka-tuner /opt/kafka-tuner
COPY --from=warm --chown=tuner:tuner /opt/kafka-tuner-cache /opt/kafka-tuner-cache
COPY scripts/container_health.py /opt/kafka-tuner/
COPY examples/quickstart.yaml /usr/share/kafka-tuner/
ENV PATH=/opt/kafka-tuner/bin:$PATH \
    HOME=/var/lib/kafka-tuner \
    KAFKA_TUNER_HOME=/var/lib/kafka-tuner \
    KAFKA_TUNER_STUDIES=/var/lib/kafka-tuner/studies \
    KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# What `docker volume` keeps when the container goes: the record of the studies.
VOLUME /var/lib/kafka-tuner/studies
USER 10001:10001
WORKDIR /var/lib/kafka-tuner
# The service, and a broker; whatever runs otherwise ends when it is ill.
EXPOSE 8080 9092
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-I", "-S", "/opt/kafka-tuner/container_health.py"]
# On SIGTERM the tuner ends as on Ctrl-C: topics deleted, brokers stopped, the study to be gone on with.
ENTRYPOINT ["tini", "--", "tuner"]
CMD ["run", "/usr/share/kafka-tuner/quickstart.yaml"]
# Last: they change with each build, and nothing after them has to be built again.
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kafka-tuner" \
      org.opencontainers.image.description="Finds the best Apache Kafka producer configuration for each record size, by measuring it." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/python:3.11-slim-bookworm" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
