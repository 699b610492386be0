#!/bin/sh
# Makes Temporal's two databases in PostgreSQL, or brings their schemas up to this version. Running it again changes nothing.
# The password is read from SQL_PASSWORD.
set -eu

sql_tool() {
  temporal-sql-tool --plugin postgres12 --ep "$SQL_HOST" -p "${SQL_PORT:-5432}" -u "$SQL_USER" "$@"
}

set_up() {
  database=$1
  schema=$2
  sql_tool --db "$database" create
  sql_tool --db "$database" setup-schema -v 0.0
  sql_tool --db "$database" update-schema --schema-name "postgresql/v12/$schema"
}

set_up temporal temporal
set_up temporal_visibility visibility
