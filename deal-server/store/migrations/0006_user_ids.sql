ALTER TABLE "deals"."events" ADD COLUMN "actor_user_id" text;--> statement-breakpoint
ALTER TABLE "deals"."tasks" ADD COLUMN "assignee_user_id" text;