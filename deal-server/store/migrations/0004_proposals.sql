CREATE TABLE "deals"."proposals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"principal_id" text NOT NULL,
	"command_id" text NOT NULL,
	"deal_id" uuid,
	"use_case" text NOT NULL,
	"params" json NOT NULL,
	"fingerprint" text NOT NULL,
	"deal_version" integer,
	"proposed_by" text NOT NULL,
	"client" json NOT NULL,
	"proposed_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "proposals_of_commands" ON "deals"."proposals" USING btree ("principal_id","command_id");--> statement-breakpoint
CREATE INDEX "proposals_by_time" ON "deals"."proposals" USING btree ("proposed_at","id");--> statement-breakpoint
CREATE INDEX "proposals_of_deals" ON "deals"."proposals" USING btree ("deal_id");