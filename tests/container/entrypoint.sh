#!/bin/bash
# Start Neo4j as the official image does, as far as the tests need it:
#   NEO4J_AUTH=neo4j/PASSWORD | none     first password, or no authentication
#   NEO4J_server_memory_heap_max__size   settings: dots as _, underscores doubled
set -euo pipefail

home=/opt/neo4j
conf=$home/conf/neo4j.conf
heap=${NEO4J_server_memory_heap_max__size:-1g}
cp "$home/conf/neo4j.conf.template" "$conf"

while IFS='=' read -r name value; do
  case $name in
    NEO4J_AUTH | NEO4J_PLUGINS | NEO4J_HOME | NEO4J_CONF | NEO4J_server_memory_heap_*) ;;
    NEO4J_*)
      key=${name#NEO4J_}
      key=${key//__/$'\x01'}
      key=${key//_/.}
      key=${key//$'\x01'/_}
      # A setting that stands twice keeps the server from starting.
      sed -i "/^$key=/d" "$conf"
      echo "$key=$value" >>"$conf"
      ;;
  esac
done < <(env)

export NEO4J_HOME=$home NEO4J_CONF=$home/conf
options=(
  "@$home/conf/jvm.args"
  -cp "$home/lib/*"
)
auth=${NEO4J_AUTH:-neo4j/neo4j}
if [ "$auth" = none ]; then
  echo "dbms.security.auth_enabled=false" >>"$conf"
elif [ ! -e /data/dbms/auth.ini ] && [ ! -d /data/databases/system ] && [ "$auth" != neo4j/neo4j ]; then
  # In a file, as a password must not stand in the process list.
  password=${auth#*/}
  password=${password//\\/\\\\}
  (umask 077 && printf 'org.neo4j.cli.AdminTool dbms set-initial-password "%s"\n' \
    "${password//\"/\\\"}" >/tmp/admin.args)
  /opt/java/bin/java -Xmx256m "${options[@]}" @/tmp/admin.args
  rm /tmp/admin.args
fi
exec /opt/java/bin/java -Xms256m "-Xmx$heap" "${options[@]}" "$(cat "$home/conf/main-class")" \
  --home-dir="$home" --config-dir="$home/conf" --console-mode
