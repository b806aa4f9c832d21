#!/bin/sh
# Starts a server with the settings that the init service wrote. Each file in /secrets/own is one setting: its name is
# the variable, its content the value. So only this process has them in its environment; the image and the output of
# `docker inspect` do not have them.
set -eu
for file in /secrets/own/*; do
  if [ -f "$file" ]; then export "$(basename "$file")=$(cat "$file")"; fi
done
exec "$@"
