CREATE TABLE "auth"."password_resets" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"code_hash" text NOT NULL,
	"generation" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "password_resets_code_hash" UNIQUE("code_hash")
);
--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ADD COLUMN "reason" text;--> statement-breakpoint
ALTER TABLE "auth"."password_resets" ADD CONSTRAINT "password_resets_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "password_resets_expires_at" ON "auth"."password_resets" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "audit_entries_actor" ON "auth"."audit_entries" USING btree (lower("actor" collate "C"),"seq") WHERE "auth"."audit_entries"."actor" is not null;--> statement-breakpoint
CREATE INDEX "audit_entries_target" ON "auth"."audit_entries" USING btree (lower("target" collate "C"),"seq") WHERE "auth"."audit_entries"."target" is not null;--> statement-breakpoint
CREATE INDEX "audit_entries_action" ON "auth"."audit_entries" USING btree ("action" collate "C","seq");--> statement-breakpoint
CREATE INDEX "audit_entries_refused" ON "auth"."audit_entries" USING btree ("outcome","seq") WHERE "auth"."audit_entries"."outcome" <> 'succeeded';--> statement-breakpoint
CREATE INDEX "audit_entries_at" ON "auth"."audit_entries" USING btree ("at","seq");