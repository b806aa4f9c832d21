# An auth database that was restored from a backup, with more and more of what docs/operations.md asks for. Prints one line for each fact.
signed() {
  local target
  target="/rest/v1/deals?apikey=$1&method=GET&timestamp=$(date +%s)"
  curl -s -o /dev/null -w '%{http_code}\n' "$DEAL$target&signature=$(hmac "$target" "$2")"
}
hmac() { node -p 'require("crypto").createHmac("sha256", process.argv[2]).update(process.argv[1]).digest("hex")' "$1" "$2"; }
restore() {
  pg psql auth -qc 'set client_min_messages = warning; drop schema auth cascade'
  pg pg_restore auth <older.dump
}
feed() { ready "$AUTH" | grep principal-feed; }

start auth deal-1
keyhold login >/dev/null
PASSWORD=$(secret)
keyhold api PUT /users/erin/password newPassword=@- <<<"$PASSWORD"
TOKEN=$(login)
pg pg_dump auth --format=custom >older.dump
NEWER=$(keyhold --json api POST /api-keys kind=hmac username=erin)
sign() { signed "$(json it.id <<<"$NEWER")" "$(json it.secret <<<"$NEWER")"; }
sleep 1
echo "before: $(try "$DEAL/rest/v1/deals") $(sign)"

stop auth
restore
launch auth
await auth nothing
sleep 2
echo "with the former id: $(feed), $(try "$DEAL/rest/v1/deals")"
logs auth | grep -o 'the database is older than the cache' | tail -1

stop auth
pg psql auth -qc 'update auth.principal_change_counter set installation_id = gen_random_uuid()'
start auth
sleep 1
echo "with a new id: $(feed), $(try "$DEAL/rest/v1/deals"), $(sign)"
