#!/bin/bash
# Creates the database if its folder is empty, then becomes the server process.
set -euo pipefail
data=/var/lib/postgresql/data
as_postgres() { runuser -u postgres -- "$@"; }

if [ ! -s "$data/PG_VERSION" ]; then
  chown postgres "$data" && chmod 700 "$data"
  printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password && chown postgres /tmp/password && chmod 600 /tmp/password
  as_postgres initdb --pgdata="$data" --username="$POSTGRES_USER" --pwfile=/tmp/password --encoding=UTF8 --locale=C.UTF-8 --auth-local=trust --auth-host=scram-sha-256
  rm /tmp/password
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
  as_postgres pg_ctl --pgdata="$data" --wait --options="-c listen_addresses=''" start
  createdb --host=/var/run/postgresql --username="$POSTGRES_USER" "$POSTGRES_DB"
  for file in /docker-entrypoint-initdb.d/*.sql; do
    psql --host=/var/run/postgresql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --set=ON_ERROR_STOP=1 --file="$file"
  done
  as_postgres pg_ctl --pgdata="$data" --wait --mode=fast stop
fi
exec runuser -u postgres -- postgres -D "$data" -c "listen_addresses=*"
