#!/bin/bash
# Runs once, on an empty cluster. Creates a database for each server, with its own role, which cannot open the other
# one.
set -euo pipefail
for name in auth deals; do
  DATABASE_PASSWORD=$(cat "/secrets/database/${name^^}_PASSWORD")
  export DATABASE_PASSWORD
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres -v name="$name" <<'SQL'
\getenv password DATABASE_PASSWORD
create role :"name" login password :'password';
create database :"name" owner :"name";
revoke all on database :"name" from public;
SQL
done
