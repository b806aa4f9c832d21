-- The chain is made from the journal alone. Entries that wait in it stay, in their order.
DROP TABLE "auth"."audit_writers";--> statement-breakpoint
DROP INDEX "auth"."audit_entries_writer";--> statement-breakpoint
ALTER TABLE "auth"."audit_journal" DROP CONSTRAINT "audit_journal_of_writer";--> statement-breakpoint
ALTER TABLE "auth"."audit_journal" DROP COLUMN "writer", DROP COLUMN "number", DROP COLUMN "key_id", DROP COLUMN "mac";
