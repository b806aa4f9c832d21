ALTER TABLE "auth"."clients" ADD COLUMN "mode" text DEFAULT 'run' NOT NULL;--> statement-breakpoint
ALTER TABLE "auth"."clients" ADD CONSTRAINT "clients_mode" CHECK ("auth"."clients"."mode" in ('run', 'propose'));
--> statement-breakpoint
UPDATE "auth"."rights" SET "position" = "position" + 1
  WHERE "position" > (SELECT "position" FROM "auth"."rights" WHERE "name" = 'task.read-any');
--> statement-breakpoint
INSERT INTO "auth"."rights" ("resource_server", "name", "description", "reads_only", "position")
  SELECT 'deals', 'proposal.decide', 'Decide on proposals of applications', false, "position" + 1
  FROM "auth"."rights" WHERE "name" = 'task.read-any' ON CONFLICT DO NOTHING;
--> statement-breakpoint
SELECT setval(pg_get_serial_sequence('auth.rights', 'position'), (SELECT max("position") FROM "auth"."rights"));
--> statement-breakpoint
UPDATE "auth"."roles" SET "rights" = array_append("rights", 'proposal.decide')
  WHERE "name" = 'manager' AND EXISTS (SELECT 1 FROM "auth"."rights"
    WHERE "name" = 'proposal.decide' AND "resource_server" = 'deals');
--> statement-breakpoint
UPDATE "auth"."principal_change_counter" SET "value" = "value" + 1;
--> statement-breakpoint
UPDATE "auth"."principals" SET "change_number" = (SELECT "value" FROM "auth"."principal_change_counter")
  WHERE "username_folded" = ':catalogue';
