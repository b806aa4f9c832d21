import { defineConfig } from 'drizzle-kit'

/** Generates the auth server's migrations from its schema: `npm run migrations`. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './auth-server/store/schema.ts',
  schemaFilter: ['auth'],
  out: './auth-server/store/migrations',
})
