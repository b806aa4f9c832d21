#!/bin/sh
# The operators' tool with the settings of the server in this container: `docker compose exec auth ops keys status`.
exec keyhold node /app/dist/auth-server/cli/main.js "$@"
