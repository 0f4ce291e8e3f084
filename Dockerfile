# The image of the tuner and of Kafka. A container of it needs a network only to measure a cluster of yours. See
# docs/how-to/containers.md.
#
#   scripts/image build
#   docker run --rm --network none kafka-tuner            runs the quick start, up to its recommendation
#   docker run --rm --network host kafka-tuner bench --bootstrap broker:9092
#
# To download from mirrors, use --build-arg PIP_INDEX_URL=... and --build-arg KAFKA_TUNER_MAVEN_REPOSITORY=... Only stages
# that are not part of the image know these addresses. The build does not need BuildKit.

# tini is process 1 of the container: it passes signals on to the tuner, and collects the exit codes of orphaned processes.
FROM python:3.11-slim-bookworm AS init
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends tini

# A stage of its own, so that the dependencies are installed again only when they change, and not whenever pyproject.toml
# does.
FROM python:3.11-slim-bookworm AS requirements
WORKDIR /src
COPY pyproject.toml ./
COPY scripts/image_requirements.py scripts/
RUN python3 scripts/image_requirements.py > requirements.txt

FROM python:3.11-slim-bookworm AS install
ARG PIP_INDEX_URL
WORKDIR /src
# The packages that build ours are pinned, too. Older versions of pip read PIP_CONSTRAINT for it, newer ones
# PIP_BUILD_CONSTRAINT.
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_CONSTRAINT=/src/constraints.txt PIP_BUILD_CONSTRAINT=/src/constraints.txt
# The environment has no pip of its own: the pip of the base image installs into it.
RUN python3 -m venv --without-pip /opt/kafka-tuner
COPY --from=requirements /src/requirements.txt ./
COPY constraints.txt ./
COPY scripts/slim_environment.py scripts/
RUN python3 -m pip --python /opt/kafka-tuner/bin/python install --quiet --no-compile --requirement requirements.txt \
 && python3 scripts/slim_environment.py /opt/kafka-tuner
COPY . .
RUN python3 -m pip --python /opt/kafka-tuner/bin/python install --quiet --no-compile --no-deps .

# Runs a study, so that the image contains the files that a first study makes: the jars of Kafka and of its Java client, the
# compiled load generator of the Java client, the archive of classes with which brokers start quickly, and the bytecode of
# the modules that were used. The bytecode of all modules would take 200 MB. If the study fails, so does the build.
FROM install AS warm
ARG KAFKA_TUNER_MAVEN_REPOSITORY
RUN KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache /opt/kafka-tuner/bin/python scripts/prefetch_kafka.py \
 && KAFKA_TUNER_CACHE=/opt/kafka-tuner-cache /opt/kafka-tuner/bin/python scripts/warm_environment.py \
 && chmod -R a+rX /opt/kafka-tuner-cache

FROM python:3.11-slim-bookworm
# The folder of broker logs, studies and MLflow's files. Every user can write to it, so `--user` works with any id.
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
# The studies are on a volume, which outlives the container.
VOLUME /var/lib/kafka-tuner/studies
USER 10001:10001
WORKDIR /var/lib/kafka-tuner
# The ports of the service and of the broker.
EXPOSE 8080 9092
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-I", "-S", "/opt/kafka-tuner/container_health.py"]
# On SIGTERM, the tuner does what it does on Ctrl-C: it deletes its topics, stops its brokers, and the study can be resumed.
ENTRYPOINT ["tini", "--", "tuner"]
CMD ["run", "/usr/share/kafka-tuner/quickstart.yaml"]
# The labels are last, because they change with each build, and everything after a change is built again.
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kafka-tuner" \
      org.opencontainers.image.description="Finds the best Apache Kafka producer configuration for each record size, by measuring it." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/python:3.11-slim-bookworm" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
