#!/bin/bash
# Writes one backup, as docs/operations/routine.md#backup says, into BACKUP_DIR/TIME (mode 0700, files 0600): auth.dump,
# deals.dump, keys.tar.gz, secrets.env. Settings, besides those in auth.env:
#   DEAL_DATABASE_URL   the deals database
#   BACKUP_DIR          where backups are kept; /var/lib/keyhold/backups when left out
#   BACKUP_KEEP_DAYS    older backups are removed after a backup that succeeded; 14 when left out
#   BACKUP_CERTIFICATE  PEM file of an X.509 certificate with an RSA key. With it, each file is encrypted (CMS, AES-256)
#                       and gets the ending .cms. This machine cannot read it again: the private key is elsewhere.
# A backup that fails leaves no folder but those of former backups, and ends with another code than 0.
set -euo pipefail
umask 077
: "${AUTH_DATABASE_URL:?}" "${DEAL_DATABASE_URL:?}" "${KEYS_DIR:?}" "${SECRETS_KEY:?}" "${SERVICE_SECRET:?}"
folder=${BACKUP_DIR:-/var/lib/keyhold/backups}
keep=${BACKUP_KEEP_DAYS:-14}
if [[ ! $keep =~ ^[0-9]+$ ]]; then
  echo 'BACKUP_KEEP_DAYS: expected a number of days' >&2
  exit 2
fi
target=$folder/$(date -u +%Y-%m-%dT%H-%M-%SZ)
draft=$target.unfinished
mkdir -p "$folder"
mkdir "$draft"
trap 'rm -rf "$draft"' EXIT
trap 'exit 1' HUP INT TERM

# Keeps as the file $1 what the further words write; a plain file never exists when it is to be encrypted.
keep_output() {
  local name=$1
  shift
  if [ -n "${BACKUP_CERTIFICATE:-}" ]; then
    "$@" | openssl cms -encrypt -binary -stream -aes-256-cbc -outform DER -out "$draft/$name.cms" \
      -recip "$BACKUP_CERTIFICATE" -keyopt rsa_padding_mode:oaep
  else
    "$@" >"$draft/$name"
  fi
}

# The password goes by the environment: everybody may read the parameters of a program.
dump() {
  local url=$1 encoded=''
  if [[ $url =~ ^([a-z]+://[^:@/]*):([^@/]*)@(.*)$ ]]; then
    encoded=${BASH_REMATCH[2]}
    url=${BASH_REMATCH[1]}@${BASH_REMATCH[3]}
  fi
  # A parameter of Keyhold, which pg_dump does not know.
  url=$(sed -E 's/([?&])pgbouncer=[a-z]*&?/\1/; s/[?&]$//' <<<"$url")
  encoded=${encoded//\\/\\\\}
  PGPASSWORD=$(printf '%b' "${encoded//%/\\x}") pg_dump --format=custom --no-password --dbname="$url"
}

secrets() {
  local name
  for name in SECRETS_KEY SERVICE_SECRET KEYS_PASSPHRASE; do
    if [ -n "${!name:-}" ]; then echo "$name=${!name}"; fi
  done
}

keep_output auth.dump dump "$AUTH_DATABASE_URL"
keep_output deals.dump dump "$DEAL_DATABASE_URL"
keep_output keys.tar.gz tar -C "$KEYS_DIR" -czf - .
keep_output secrets.env secrets
sync "$draft"/*
mv "$draft" "$target"
find "$folder" -mindepth 1 -maxdepth 1 -name '????-??-??T??-??-??Z*' -mtime "+$keep" -exec rm -rf {} +
echo "Backup: $target"
