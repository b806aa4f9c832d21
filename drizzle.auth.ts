import { defineConfig } from 'drizzle-kit'

/** Generates the auth server's migrations from its schema: `npm run migrations`. */
export default defineConfig({
  dialect: 'postgresql',
  schema: ['schema', 'access-tables', 'client-tables', 'second-factor-tables', 'audit-tables'].map(
    (name) => `./auth-server/store/${name}.ts`,
  ),
  schemaFilter: ['auth'],
  out: './auth-server/store/migrations',
})
