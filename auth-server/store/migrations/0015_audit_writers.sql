ALTER TABLE "auth"."audit_entries" ADD COLUMN "writer" uuid;--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ADD COLUMN "writer_first" bigint;--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ADD COLUMN "writer_last" bigint;--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ADD COLUMN "writer_mac" text;--> statement-breakpoint
CREATE INDEX "audit_entries_writer" ON "auth"."audit_entries" USING btree ("writer","writer_last") WHERE "auth"."audit_entries"."writer" is not null;--> statement-breakpoint
-- From now on, it has what the archive holds. How far writers are in the log, the log itself says.
DELETE FROM "auth"."audit_writers";
