#!/bin/sh
# Starts a server with the settings that the init service wrote: each file in /secrets/own is one, its name the variable and its content
# the value. They are then in the environment of this one process, and neither in the image nor in what `docker inspect` shows.
set -eu
for file in /secrets/own/*; do
  if [ -f "$file" ]; then export "$(basename "$file")=$(cat "$file")"; fi
done
exec "$@"
