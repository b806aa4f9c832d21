import { defineConfig } from 'drizzle-kit'

/** `npm run migrations` compares the deal server's schema with its migrations and writes what is missing. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './deal-server/store/schema.ts',
  out: './deal-server/store/migrations',
  schemaFilter: ['deals'],
})
