CREATE SCHEMA "deals";
--> statement-breakpoint
CREATE TABLE "deals"."commands" (
	"principal_id" text NOT NULL,
	"command_id" text NOT NULL,
	"deal_id" uuid NOT NULL,
	"use_case" text NOT NULL,
	"params" json NOT NULL,
	"fingerprint" text NOT NULL,
	"outcome" json,
	"style" text NOT NULL,
	"request_id" uuid NOT NULL,
	"requested_by" text NOT NULL,
	"requested_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "commands_pkey" PRIMARY KEY("principal_id","command_id")
);
--> statement-breakpoint
CREATE TABLE "deals"."deals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"price" bigint NOT NULL,
	"currency" char(3) NOT NULL,
	"description" text,
	"completion_date" date,
	"owner_id" text NOT NULL,
	"status" text NOT NULL,
	"held" boolean NOT NULL,
	"hold_reason" text,
	"hold_reason_code" text,
	"held_at" timestamp(3) with time zone,
	"held_by" text,
	"price_reason" text,
	"completion_date_reason" text,
	"completion_date_penalty" bigint,
	"cancel_reason" text,
	"cancel_penalty" bigint,
	"cancelled_at" timestamp(3) with time zone,
	"completion" jsonb,
	"penalty_total" bigint NOT NULL,
	"task_count" integer NOT NULL,
	"version" integer NOT NULL,
	"sequence" integer NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"created_by" text NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"updated_by" text NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"purge_at" timestamp(3) with time zone,
	CONSTRAINT "deals_held_has_reason" CHECK ("deals"."deals"."held" = ("deals"."deals"."hold_reason" is not null)),
	CONSTRAINT "deals_held_is_open" CHECK (not ("deals"."deals"."held" and "deals"."deals"."status" <> 'open')),
	CONSTRAINT "deals_cancelled_has_reason" CHECK (("deals"."deals"."status" = 'cancelled') = ("deals"."deals"."cancel_reason" is not null)),
	CONSTRAINT "deals_price_range" CHECK ("deals"."deals"."price" between 0 and 999999999999999),
	CONSTRAINT "deals_penalty_range" CHECK ("deals"."deals"."penalty_total" between 0 and 999999999999999),
	CONSTRAINT "deals_status" CHECK ("deals"."deals"."status" in ('open', 'completed', 'cancelled'))
);
--> statement-breakpoint
CREATE TABLE "deals"."events" (
	"position" bigserial PRIMARY KEY NOT NULL,
	"xid" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"id" uuid NOT NULL,
	"deal_id" uuid NOT NULL,
	"sequence" integer NOT NULL,
	"deal_version" integer NOT NULL,
	"type" text NOT NULL,
	"data" json NOT NULL,
	"currency" char(3) NOT NULL,
	"occurred_at" timestamp(3) with time zone NOT NULL,
	"actor" text NOT NULL,
	"use_case" text NOT NULL,
	"style" text NOT NULL,
	"command_id" text,
	"correlation_id" uuid NOT NULL,
	"schema_version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "events_of_deal" UNIQUE("deal_id","sequence")
);
--> statement-breakpoint
CREATE TABLE "deals"."tasks" (
	"deal_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"title" text NOT NULL,
	"due_date" date,
	"assignee_id" text,
	"status" text NOT NULL,
	"result" text,
	"created_at" timestamp(3) with time zone NOT NULL,
	"assigned_at" timestamp(3) with time zone,
	"done_at" timestamp(3) with time zone,
	CONSTRAINT "tasks_pkey" PRIMARY KEY("deal_id","id"),
	CONSTRAINT "tasks_status" CHECK ("deals"."tasks"."status" in ('open', 'done', 'dropped'))
);
--> statement-breakpoint
CREATE INDEX "commands_of_deal" ON "deals"."commands" USING btree ("deal_id","requested_at");--> statement-breakpoint
CREATE INDEX "commands_to_expire" ON "deals"."commands" USING btree ("expires_at") WHERE "deals"."commands"."outcome" is not null;--> statement-breakpoint
CREATE INDEX "deals_newest" ON "deals"."deals" USING btree ("created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_status" ON "deals"."deals" USING btree ("status","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_to_purge" ON "deals"."deals" USING btree ("purge_at") WHERE "deals"."deals"."purge_at" is not null;--> statement-breakpoint
CREATE INDEX "events_in_order" ON "deals"."events" USING btree ("xid","position");--> statement-breakpoint
CREATE INDEX "tasks_of_assignee" ON "deals"."tasks" USING btree (lower("assignee_id" collate "C"),"due_date","id") WHERE "deals"."tasks"."status" = 'open';