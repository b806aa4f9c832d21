# The words of docs/operations.md where servers are processes of one shell. FOLDER holds the built servers, the settings (a folder for
# each kind of server, a file for each setting) and the logs. The servers get nothing else from the environment.
set -euo pipefail

setting() {
  if [ $# -gt 2 ]; then printf %s "$3" >"$FOLDER/$1/$2"; else cat "$FOLDER/$1/$2"; fi
}

# Settings of one kind of server, as words for `env`.
settings_of() {
  local file value
  settings=("PATH=$PATH" "HOME=$FOLDER" "NODE_ENV=production" "SECOND_FACTOR_ROLES=none" "HOST=127.0.0.1")
  # Without a process for each: they would take longer than the command that wants the settings.
  for file in "$FOLDER/$1"/*; do
    read -rd '' value <"$file" || true
    settings+=("${file##*/}=$value")
  done
}

declare -A process_of

start() {
  local one
  for one; do
    launch "$one"
    await "$one" '*unavailable*' || { echo "$one did not start:"; tail -n 5 "$FOLDER/$one.log"; return 1; }
  done
}

launch() {
  local kind=${1%%-*} settings
  settings_of "$kind"
  env -i "${settings[@]}" "${kind^^}_PORT=$(port_of "$1")" node "$FOLDER/dist/$kind-server/main.js" >>"$FOLDER/$1.log" 2>&1 &
  process_of[$1]=$!
}

# Ready, with nothing in the answer that must not be there: what follows at once is printed.
await() {
  local answer
  for _ in $(seq 300); do
    answer=$(curl -s "http://127.0.0.1:$(port_of "$1")/readyz" || true)
    if [[ $answer == *'"ready"'* && $answer != $2 ]]; then return 0; fi
    if ! kill -0 "${process_of[$1]}" 2>/dev/null; then return 1; fi
    sleep 0.3
  done
  echo "$answer"
  return 1
}

# Exit code 0, as promised; `wait` gives it.
stop() {
  local one
  for one; do
    kill -TERM "${process_of[$one]}"
    wait "${process_of[$one]}"
    unset "process_of[$one]"
  done
}

# A line is written a moment after the answer.
logs() {
  sleep 0.5
  cat "$FOLDER/$1.log"
}

ops() {
  local settings
  settings_of auth
  env -i "${settings[@]}" "AUTH_PORT=$(port_of auth)" node "$FOLDER/dist/auth-server/cli/main.js" "$@"
}

keyhold() { node "$FOLDER/dist/cli/main.js" "$@"; }

pg() {
  local tool=$1 database=$2
  shift 2
  "$tool" -d "$POSTGRES/$database" "$@"
}

first_password() { cat "$(setting auth FIRST_PASSWORD_FILE)"; }

cache() { redis-cli -u "$REDIS" "$@"; }

end_all() {
  local one
  for one in "${!process_of[@]}"; do kill -KILL "${process_of[$one]}" 2>/dev/null || true; done
}
trap end_all EXIT
cd "$FOLDER"
