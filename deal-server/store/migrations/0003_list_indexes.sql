DROP INDEX "deals"."deals_newest";--> statement-breakpoint
DROP INDEX "deals"."commands_of_deal";--> statement-breakpoint
DROP INDEX "deals"."deals_by_status";--> statement-breakpoint
DROP INDEX "deals"."tasks_of_assignee";--> statement-breakpoint
CREATE INDEX "deals_by_creation" ON "deals"."deals" USING btree ("created_at","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_owner" ON "deals"."deals" USING btree (lower("owner_id" collate "C"),"completion_date","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_completion_date" ON "deals"."deals" USING btree ("completion_date","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_price" ON "deals"."deals" USING btree ("currency","price","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "commands_of_deal" ON "deals"."commands" USING btree ("deal_id","requested_at","command_id","principal_id");--> statement-breakpoint
CREATE INDEX "deals_by_status" ON "deals"."deals" USING btree ("status","created_at","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tasks_of_assignee" ON "deals"."tasks" USING btree (lower("assignee_id" collate "C"),"due_date","id","deal_id") WHERE "deals"."tasks"."status" = 'open';