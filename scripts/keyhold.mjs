#!/usr/bin/env node
// `npx keyhold <group> <command>`: the command line for callers. `keyhold ops …` is the operators' tool.
process.argv.splice(2, 0, 'cli/main.ts')
await import('./run.mjs')
