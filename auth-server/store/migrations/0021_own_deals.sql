ALTER TABLE "auth"."rights" DROP CONSTRAINT "rights_name_form";--> statement-breakpoint
ALTER TABLE "auth"."rights" ADD CONSTRAINT "rights_name_form" CHECK ("auth"."rights"."name" ~ '^[a-z0-9-]+([.][a-z0-9-]+)+(:own)?$');--> statement-breakpoint
INSERT INTO "auth"."rights" ("resource_server", "name", "description", "reads_only") VALUES
	('deals', 'deal.read:own', 'Read own deals', true),
	('deals', 'deal.history.read:own', 'Read the history of own deals', true),
	('deals', 'deal.create:own', 'Create deals as their owner', false),
	('deals', 'deal.rename:own', 'Rename own deals', false),
	('deals', 'deal.change-price:own', 'Change prices of own deals', false),
	('deals', 'deal.change-completion-date:own', 'Change completion dates of own deals', false),
	('deals', 'deal.hold:own', 'Hold own deals', false),
	('deals', 'deal.unhold:own', 'Unhold own deals', false),
	('deals', 'deal.assign-owner:own', 'Give own deals to another owner', false),
	('deals', 'deal.task.add:own', 'Add tasks to own deals', false),
	('deals', 'deal.task.assign:own', 'Assign tasks of own deals', false),
	('deals', 'deal.task.complete:own', 'Complete own tasks', false),
	('deals', 'deal.complete:own', 'Complete own deals', false),
	('deals', 'deal.cancel:own', 'Cancel own deals', false),
	('deals', 'deal.reopen:own', 'Reopen own deals', false),
	('deals', 'deal.delete:own', 'Delete own deals', false),
	('deals', 'deal.restore:own', 'Restore own deals', false);--> statement-breakpoint
INSERT INTO "auth"."roles" ("name", "description", "rights", "created_at", "updated_at") VALUES
	('seller', 'Works on own deals', ARRAY['deal.read:own', 'deal.history.read:own', 'deal.create:own', 'deal.rename:own', 'deal.change-price:own', 'deal.change-completion-date:own', 'deal.hold:own', 'deal.unhold:own', 'deal.task.complete:own'], now(), now());--> statement-breakpoint
WITH "n" AS (UPDATE "auth"."principal_change_counter" SET "value" = "value" + 1 RETURNING "value")
UPDATE "auth"."principals" SET "change_number" = (SELECT "value" FROM "n") WHERE "username_folded" = ':catalogue';
