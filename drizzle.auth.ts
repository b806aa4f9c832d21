import { defineConfig } from 'drizzle-kit'

/** Generates the auth server's migrations from its schema: `npm run migrations`. */
export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './auth-server/store/schema.ts',
    './auth-server/store/audit-archive-tables.ts',
    './auth-server/store/second-factor-tables.ts',
  ],
  schemaFilter: ['auth'],
  out: './auth-server/store/migrations',
})
